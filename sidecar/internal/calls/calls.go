// SPDX-License-Identifier: Apache-2.0

// Package calls decides when an object may call its driver, and remembers what
// became of calls that failed. It holds what the reconcilers of both kinds
// share.
//
// It must not make calls itself, and knows of an object neither spec nor status.
package calls

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// A Kit is for the reconciler of one kind. All fields are required.
type Kit struct {
	kit.Kit

	// Info is the driver's latest response to DriverGetInfo.
	Info func() driver.Info
	// InFlight holds the IDs that calls are running for.
	InFlight *inflight.Keys
	// Failures holds the calls that failed.
	Failures *Failures
	// Bell starts a reconcile when an ID becomes free.
	Bell *Bell
	// StepLimit bounds a step; it must be longer than the deadline of a call.
	StepLimit time.Duration
}

// A Turn is one reconcile of an object.
type Turn struct {
	Req reconcile.Request
	// Object is the copy that the reconcile decides by.
	Object client.Object
	// Asks is the part of the object's spec that the driver is asked about, or
	// that somebody changes to make another try worthwhile.
	Asks any
	// Info is the driver's latest response to DriverGetInfo.
	Info driver.Info
	// Fresh says that the API accepted a write of this very copy, or has it.
	Fresh bool
}

// Due establishes that the last failure of a call for the object is long enough
// ago.
func (k *Kit) Due(_ context.Context, t *Turn) (step.Verdict, error) {
	return k.until(k.Failures.Wait(t.Req, t.State())), nil
}

// Reread establishes that the object is still what the cache says.
func (k *Kit) Reread(ctx context.Context, t *Turn) (step.Verdict, error) {
	if t.Fresh {
		return step.Next(), nil
	}
	current, err := k.Current(ctx, t.Object)
	if err != nil || current {
		t.Fresh = current
		return step.Next(), err
	}
	return step.Wait("the cache, which is behind the API server"), nil
}

// Begin begins a call, which is over when end is called. While another call for
// what of names runs, it begins nothing: end is nil, and the reconcile starts
// again when that call has ended.
func (k *Kit) Begin(t *Turn, call inflight.Call, of string) (end func(), wait step.Verdict) {
	end = k.InFlight.Try(call, func() { k.Bell.Ring(t.Req) })
	if end == nil {
		return nil, step.Wait("the end of another call for " + of)
	}
	return end, step.Next()
}

// Failed notes that a call failed, after that was written to the object, and
// waits until it may be repeated. asked is the State that the call was made for.
func (k *Kit) Failed(t *Turn, asked State, f *driver.Failure) step.Verdict {
	return k.until(k.Failures.Note(t.Req, asked, f))
}

// until waits for the time of the next call.
func (k *Kit) until(wait time.Duration) step.Verdict {
	switch wait {
	case 0:
		return step.Next()
	case Forever:
		return step.Wait("a change of the " + k.Kind + " or the driver")
	default:
		return step.WaitAtMost(wait, "the time of the next call")
	}
}

// State is what a call for the object is made for now.
func (t *Turn) State() State {
	return State{Object: Fingerprint(t.Object, t.Asks), Driver: t.Info.Epoch}
}

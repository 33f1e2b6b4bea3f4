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

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
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
	// Shares bounds the calls with the same parameters.
	Shares *inflight.Shares
	// Given holds the IDs that were given to objects.
	Given *IDs
	// Failures holds the calls that failed.
	Failures *Failures
	// Trigger starts a reconcile when an ID or a share becomes free.
	Trigger *Trigger
	// StepLimit bounds a step; it must be longer than the deadline of a call.
	StepLimit time.Duration
}

// A Turn is one reconcile of an object that makes calls.
type Turn struct {
	kit.Turn

	// Asks is the part of the object's spec that the driver is asked about, and
	// what else an administrator changes to have another try.
	Asks any
	// Info is the driver's latest response to DriverGetInfo.
	Info driver.Info

	// waits says that the object waits for a share.
	waits bool
}

func (t *Turn) turn() *Turn { return t }

// DriverName implements kit.Work.
func (t *Turn) DriverName() string { return t.Info.Name }

// Shared is kit.Shared for the steps of this package.
func Shared[W interface{ turn() *Turn }](name string, do func(context.Context, *Turn) (step.Verdict, error)) step.Step[W] {
	return step.Named(name, func(ctx context.Context, w W) (step.Verdict, error) { return do(ctx, w.turn()) })
}

// Due establishes that the last failure of a call for the object is long enough
// ago.
func (k *Kit) Due(_ context.Context, t *Turn) (step.Verdict, error) {
	return k.until(k.Failures.Wait(t.Req, t.State())), nil
}

// Share establishes that calls with the same parameters, which most likely end at one
// backend, leave workers to others, also if all of them hang. The object then has a
// share until Leave; while it has none, the reconcile starts again when there is one.
func (k *Kit) Share(t *Turn, parameters ...map[string]string) step.Verdict {
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(t.Object)}
	t.waits = !k.Shares.Take(t.Req, digest(parameters), k.Failures.Failed(t.Req), func() { k.Trigger.Enqueue(req) })
	if t.waits {
		return step.Wait("the end of calls with the same parameters, which have their share of the workers")
	}
	return step.Next()
}

// Leave gives the share of the object back, if it has one, and ends its wait for one
// unless this reconcile waits. It is called at the end of each.
func (k *Kit) Leave(t *Turn) {
	if !t.waits {
		k.Shares.Leave(t.Req)
	}
}

// Begin begins a call, which is over when end is called. While another call for
// what of names runs, it begins nothing: end is nil, and the reconcile starts
// again when that call has ended.
func (k *Kit) Begin(t *Turn, call inflight.Call, of string) (end func(), wait step.Verdict) {
	end = k.InFlight.Try(call, func() { k.Trigger.Enqueue(t.Req) })
	if end == nil {
		return nil, step.Wait("the end of another call for " + of)
	}
	return end, step.Next()
}

// Failed notes that a call failed, after that was written to the object, and
// waits until it may be repeated. asked is the State that the call was made for.
func (k *Kit) Failed(t *Turn, asked State, f *driver.Failure) step.Verdict {
	k.CountFailure(t.Info.Name, &t.Turn)
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
	return State{Object: Fingerprint(t.Object, t.Asks), Driver: t.Info.Epoch, Rotation: t.Object.GetAnnotations()[cosiapi.RotateAnnotation]}
}

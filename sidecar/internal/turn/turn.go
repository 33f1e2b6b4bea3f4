// SPDX-License-Identifier: Apache-2.0

// Package turn decides when an object may call its driver, and records what
// became of a call that failed. It holds the steps that the reconcilers of both
// kinds share.
//
// It must not make calls itself, and knows of an object neither spec nor status.
package turn

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/objects"
	"github.com/cooper-cosi/cooper/sidecar/internal/wake"
)

// Calls is what the turns of one kind of object share. All fields are required.
type Calls struct {
	// Kind names the objects in what is waited for.
	Kind string
	// Store writes them, and reads them past the cache.
	Store objects.Store
	// InFlight holds the IDs that calls are running for.
	InFlight *inflight.Keys
	// Attempts holds the calls that failed.
	Attempts *attempts.Ledger
	// Bell starts a reconcile when an ID becomes free.
	Bell *wake.Bell
	// Asks is the part of an object's spec that the driver is asked about, or
	// that somebody changes to make another try worthwhile.
	Asks func(client.Object) any
	// Same reports whether two states of an object ask the same of the driver.
	Same func(before, now client.Object) bool
}

// A Turn is one reconcile of an object.
type Turn struct {
	Req reconcile.Request
	// Object is the copy that the reconcile decides by.
	Object client.Object
	// Info is the driver's latest answer to DriverGetInfo.
	Info driver.Info
	// Fresh says that the API accepted a write of this very copy, or has it.
	Fresh bool
}

func (c *Calls) state(t *Turn) attempts.State {
	return attempts.State{Object: attempts.Fingerprint(t.Object, c.Asks(t.Object)), Driver: t.Info.Epoch}
}

// Seen waits until the cache holds what we wrote last.
func (c *Calls) Seen(_ context.Context, t *Turn) (step.Verdict, error) {
	return c.Store.Written.Await(t.Object), nil
}

// Attempt establishes that the driver may be called for the object now: the
// last failure is long enough ago, and the copy that we decide by is not an
// old one out of the cache.
func (c *Calls) Attempt(ctx context.Context, t *Turn) (step.Verdict, error) {
	if due := c.Due(t); !due.Goes() {
		return due, nil
	}
	return c.Reread(ctx, t)
}

// Due establishes that the last failure of a call for the object is long enough
// ago.
func (c *Calls) Due(t *Turn) step.Verdict {
	if wait := c.Attempts.Wait(t.Req, c.state(t)); wait != 0 {
		return c.until(wait)
	}
	return step.Next()
}

// until waits for the time of the next attempt.
func (c *Calls) until(wait time.Duration) step.Verdict {
	if wait == attempts.Forever {
		return step.Wait("a change of the " + c.Kind + " or the driver")
	}
	return step.WaitAtMost(wait, "the time of the next attempt")
}

// Reread establishes that the object is still what the cache says.
func (c *Calls) Reread(ctx context.Context, t *Turn) (step.Verdict, error) {
	if t.Fresh {
		return step.Next(), nil
	}
	current, err := c.Store.Current(ctx, t.Object)
	if err != nil || current {
		t.Fresh = current
		return step.Next(), err
	}
	return step.Wait("the cache, which is behind the API server"), nil
}

// Take runs a call unless one that it must not run beside is running, which
// other names; then the reconcile starts again when that one has ended.
func (c *Calls) Take(t *Turn, needed inflight.Call, other string, call func() error) (step.Verdict, error) {
	release := c.InFlight.Try(needed, func() { c.Bell.Ring(t.Req) })
	if release == nil {
		return step.Wait("the end of another call for " + other), nil
	}
	defer release()
	return step.Next(), call()
}

// Record writes the outcome of a call. Somebody may have written to the object
// while the call ran, such as the Controller that a deletion takes long, or a
// user a label: that is no reason to make the call once more.
func (c *Calls) Record(ctx context.Context, t *Turn, write func() (bool, error)) error {
	_, err := c.Store.Record(ctx, t.Object, c.Same, write)
	return err
}

// Failed reports a failed call in the status of the object, warns of it and
// says when it is repeated. An error that is no failure of the driver is
// returned as it is.
func (c *Calls) Failed(ctx context.Context, t *Turn, err error, report func(*driver.Failure), warn func(note string)) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	wait := c.Attempts.Failed(t.Req, c.state(t), attempts.Failure{Terminal: failure.Terminal(), UntilReconnect: failure.UntilReconnect()})
	err = c.Record(ctx, t, func() (bool, error) {
		return c.Store.PatchStatus(ctx, t.Object, func() { report(failure) })
	})
	if err != nil {
		// What nobody can read must be found out again.
		c.Attempts.Clear(t.Req)
		return step.Verdict{}, err
	}
	warn(failure.Error())
	return c.until(wait), nil
}

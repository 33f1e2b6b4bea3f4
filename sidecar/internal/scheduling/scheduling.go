// SPDX-License-Identifier: Apache-2.0

// Package scheduling decides when a reconciler may call the driver for an object, and records the outcome of the call.
// The sidecar's reconcilers of Buckets and BucketAccesses share it. It makes no calls itself.
package scheduling

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// A Caller has everything that the reconciler of one kind needs for calls to the driver. All fields are required.
type Caller struct {
	reconciler.Base

	// Info is the driver's latest response to DriverGetInfo.
	Info func() driver.Info
	// InFlight holds the IDs for which calls are running.
	InFlight *inflight.Keys
	// Shares limits the calls with the same parameters.
	Shares *inflight.Shares
	// History remembers the calls for each object.
	History *History
	// Trigger starts a reconcile when an ID or a share becomes free.
	Trigger *Trigger
	// StepLimit is the deadline of a step; it must be longer than the deadline of a call.
	StepLimit time.Duration
}

// An Attempt is one reconcile of an object that makes calls.
type Attempt struct {
	reconciler.Request

	// Asks is the part of the object's spec that is sent to the driver, and everything else that an administrator
	// changes to trigger a retry.
	Asks any
	// Rotation is the requested rotation. A change of it ends the wait after a terminal failure, but not the backoff:
	// users or other controllers can change it at any rate.
	Rotation string
	// Info is the driver's latest response to DriverGetInfo.
	Info driver.Info

	// waitsForShare reports that the object is in the queue for a share.
	waitsForShare bool
}

func (a *Attempt) attempt() *Attempt { return a }

// DriverName implements reconciler.Work.
func (a *Attempt) DriverName() string { return a.Info.Name }

// Key identifies the object in History and Shares. An object that no longer exists has its own key, so its failures
// are not counted for its successor.
func (a *Attempt) Key() reconcile.Request {
	key := a.Req
	if a.Gone {
		key.Name += "/" + string(a.Object.GetUID())
	}
	return key
}

// State returns the input of a call for the object.
func (a *Attempt) State() State {
	return State{Object: Fingerprint(a.Object, a.Asks), Driver: a.Info.Epoch, Rotation: a.Rotation}
}

// Shared is reconciler.SharedStep for the steps of this package.
func Shared[W interface{ attempt() *Attempt }](name string, do func(context.Context, *Attempt) (reconciler.Verdict, error)) reconciler.Step[W] {
	return reconciler.NewStep(name, func(ctx context.Context, w W) (reconciler.Verdict, error) { return do(ctx, w.attempt()) })
}

// Forget drops the data about an object that no longer exists.
func (c *Caller) Forget(key reconcile.Request) {
	c.History.Forget(key)
	c.Shares.Leave(key)
}

// AwaitRetry waits until the last failed call for the object may be repeated.
func (c *Caller) AwaitRetry(_ context.Context, a *Attempt) (reconciler.Verdict, error) {
	return c.until(c.History.Wait(a.Key(), a.State())), nil
}

// Share waits for a share of the workers for calls with the same parameters. Such calls most likely reach the same
// backend, so a backend that hangs leaves workers for the others. The object keeps its share until Leave. If it has to
// wait, a reconcile is triggered when a share is free.
func (c *Caller) Share(a *Attempt, parameters ...map[string]string) reconciler.Verdict {
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a.Object)}
	a.waitsForShare = !c.Shares.Take(a.Key(), Digest(parameters), c.History.Failed(a.Key()), func() { c.Trigger.Enqueue(req) })
	if a.waitsForShare {
		return reconciler.Wait("a free worker: calls with the same parameters occupy their share of the workers")
	}
	return reconciler.Next()
}

// Leave returns the share of the object. If the object has none, Leave ends its wait for one, unless this reconcile has
// to wait. Call it at the end of each reconcile.
func (c *Caller) Leave(a *Attempt) {
	if !a.waitsForShare {
		c.Shares.Leave(a.Key())
	}
}

// Begin starts a call. The caller must call end when the call has finished. If another call for the same keys is
// running, end is nil, and a reconcile is triggered when that call ends. of names the keys.
func (c *Caller) Begin(a *Attempt, call inflight.Call, of string) (end func(), wait reconciler.Verdict) {
	end = c.InFlight.Try(call, func() { c.Trigger.Enqueue(a.Req) })
	if end == nil {
		return nil, reconciler.Wait("the end of another call for " + of)
	}
	return end, reconciler.Next()
}

// Failed records a failed call and waits until the call may be repeated. Write the failure to the object first. asked
// is the State for which the call was made.
func (c *Caller) Failed(a *Attempt, asked State, f *driver.Failure) reconciler.Verdict {
	c.CountFailure(a.Info.Name, &a.Request)
	return c.Repeat(a, asked, f)
}

// Repeat is Failed without counting the failure, for a call that neither creates nor deletes anything.
func (c *Caller) Repeat(a *Attempt, asked State, f *driver.Failure) reconciler.Verdict {
	return c.until(c.History.NoteFailure(a.Key(), asked, f))
}

// until waits for the time of the next call.
func (c *Caller) until(wait time.Duration) reconciler.Verdict {
	switch wait {
	case 0:
		return reconciler.Next()
	case Forever:
		return reconciler.Wait("a change of the " + c.Kind + " or the driver")
	default:
		return reconciler.WaitAtMost(wait, "the time of the next call")
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package bucketaccess reconciles BucketAccesses: it checks what a user asks
// for against the class and the claims, hands the access over to the sidecar
// of the driver in one write, and finishes its deletion after the sidecar
// (KEP-1979, "Generating Bucket Access Credentials", "Deleting a
// BucketAccess").
//
// A reconcile is one of the lists of steps below; each step has a file of its
// own. Once an access is handed over, this package writes nothing to it but
// its finalizer, the condition ResourcesValidated, which it shares with the
// sidecar, and what an earlier version did not hand over. It never makes an RPC, and it never writes to
// a claim: the claim's own reconciler marks the claim as in use.
package bucketaccess

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
)

// A Reconciler reconciles BucketAccesses.
type Reconciler struct {
	kit.Kit

	// Patience is how long an access may wait for its claims before its
	// conditions say so.
	Patience time.Duration
	// DeletionPatience is how long a claim may be in deletion before the
	// conditions of its accesses say so.
	DeletionPatience time.Duration
	// Marks has the claims that were marked a moment ago.
	Marks *inuse.Marks
}

// provisioning are the steps for an access that no sidecar knows of yet.
func (r *Reconciler) provisioning() []step.Step[*work] {
	return []step.Step[*work]{
		kit.Shared[*work]("seen", r.Seen), // does the cache hold what we wrote last?
		step.Named("gather", r.gather),    // look up class, claims and Buckets
		step.Named("class", r.class),      // does the class allow what is asked for?
		step.Named("claims", r.claims),    // are the claims there, and there to stay?
		step.Named("protect", r.protect),  // finalizer on the access
		step.Named("ready", r.ready),      // do the Buckets offer what is asked for?
		step.Named("marked", r.marked),    // wait until the claims are marked as in use
		step.Named("handoff", r.handOff),  // all over to the sidecar, in one write
	}
}

// handedOff are the steps for an access that its sidecar serves.
func (r *Reconciler) handedOff() []step.Step[*work] {
	return []step.Step[*work]{
		kit.Shared[*work]("seen", r.Seen),
		step.Named("protect", r.protect),
		step.Named("gather", r.gather),
		step.Named("limit", r.limit),       // what the class disallows, if it was not handed over
		step.Named("degraded", r.degraded), // are the claims still what they were?
	}
}

// deprovisioning are the steps for an access that is being deleted.
func (r *Reconciler) deprovisioning() []step.Step[*work] {
	return []step.Step[*work]{
		kit.Shared[*work]("seen", r.Seen),
		step.Named("cleaned", r.cleaned),     // wait for the sidecar, if it ever had the access
		step.Named("unmarked", r.unmarked),   // wait until claims that nobody else uses are unmarked
		step.Named("unprotect", r.unprotect), // finalizer off the access
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	access := &cosiapi.BucketAccess{}
	w := &work{Turn: kit.Turn{Req: req, Object: access}, access: access}
	err := r.Client.Get(ctx, req.NamespacedName, access)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read access from the cache: %w", err)
	}
	if inuse.StateOf(access).Blocks() {
		w.since = access.ResourceVersion
	}
	steps := r.provisioning()
	switch {
	case !w.access.DeletionTimestamp.IsZero():
		steps = r.deprovisioning()
	case w.access.Status.DriverName != "":
		steps = r.handedOff()
	}
	return kit.Run(ctx, r.Kit, steps, w)
}

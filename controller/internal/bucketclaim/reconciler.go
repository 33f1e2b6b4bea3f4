// SPDX-License-Identifier: Apache-2.0

// Package bucketclaim reconciles BucketClaims: it gets each claim a Bucket, a
// new one or one that an administrator imported, mirrors what becomes of it,
// and releases it when the claim is deleted (KEP-1979, "Creating a Bucket",
// "Accessing an Existing OSP Bucket", "Deleting a Bucket").
//
// A reconcile is one of the lists of steps below; each step has a file of its
// own. This package is the only writer of BucketClaims. It never makes an RPC
// and of the status of a Bucket, which is the sidecar's, it writes nothing but
// the condition ReleaseHeld.
package bucketclaim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
)

// A Reconciler reconciles BucketClaims.
type Reconciler struct {
	kit.Kit

	// Marks gets the claims that accesses may wait for.
	Marks *inuse.Marks
	// LostClaimGrace is how long a Bucket whose claim is gone without a trace is
	// held before it is released unconfirmed; zero means for ever.
	LostClaimGrace time.Duration
	// DeletionPatience is how long a claim may be in use after its deletion
	// before its conditions say so.
	DeletionPatience time.Duration

	listings listings
	// unbound are the UIDs of claims that this process made a Bucket for, or tried to, and has not seen bound. Such a
	// claim may go in spite of its finalizer: the API server removes an object whose deletion it had begun when the
	// finalizer came. Nobody can have used its Bucket.
	unbound sync.Map
}

// provisioning are the steps for a claim that exists and is not being deleted.
func (r *Reconciler) provisioning() []step.Step[*work] {
	return []step.Step[*work]{
		kit.Shared[*work]("seen", r.Seen), // does the cache hold what we wrote last?
		step.Named("protect", r.protect),  // finalizer on the claim, and a mark while accesses use it
		step.Named("find", r.find),        // look up the Bucket
		step.Named("create", r.create),    // create it, for a claim of a class
		step.Named("match", r.match),      // is it this claim's Bucket?
		step.Named("take", r.take),        // put the claim's UID on an imported Bucket
		step.Named("bind", r.bind),        // put the Bucket's name on the claim
		step.Named("mirror", r.mirror),    // copy what became of the Bucket
	}
}

// deprovisioning are the steps for a claim that is being deleted.
func (r *Reconciler) deprovisioning() []step.Step[*work] {
	return []step.Step[*work]{
		kit.Shared[*work]("seen", r.Seen),
		step.Named("unused", r.unused),       // wait until no access uses the claim
		step.Named("release", r.release),     // mark the Bucket, delete it if its policy says so
		step.Named("unprotect", r.unprotect), // finalizer off the claim
	}
}

// orphaned are the steps for Buckets of earlier claims of this name. They run whether or not there is a claim, and
// apart from its own steps: a Bucket that cannot be written must not block a claim that it does not belong to.
func (r *Reconciler) orphaned() []step.Step[*work] {
	return []step.Step[*work]{
		step.Named("releaseOrphans", r.releaseOrphans), // release or hold each of them
		step.Named("awaitGrace", r.awaitGrace),         // come back when the grace of a held one has passed
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	claim := &cosiapi.BucketClaim{}
	w := &work{Turn: kit.Turn{Req: req, Object: claim}, claim: claim}
	err := r.Client.Get(ctx, req.NamespacedName, claim)
	switch {
	case apierrors.IsNotFound(err):
		claim.Namespace, claim.Name = req.Namespace, req.Name // for Events
		w.Gone = true
		return kit.Run(ctx, r.Kit, r.orphaned(), w)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read claim from the cache: %w", err)
	}
	orphans, err := r.cachedOrphans(ctx, w)
	if err != nil {
		return reconcile.Result{}, err
	}
	steps := r.provisioning()
	if !w.claim.DeletionTimestamp.IsZero() {
		steps = r.deprovisioning()
	}
	result, err := kit.Run(ctx, r.Kit, steps, w)
	if len(orphans) == 0 {
		return result, err
	}
	other, otherErr := kit.Run(ctx, r.Kit, r.orphaned(), w)
	return sooner(result, other), errors.Join(err, otherErr)
}

// sooner returns the result that reconciles again first.
func sooner(a, b reconcile.Result) reconcile.Result {
	if a.RequeueAfter == 0 || b.RequeueAfter > 0 && b.RequeueAfter < a.RequeueAfter {
		return b
	}
	return a
}

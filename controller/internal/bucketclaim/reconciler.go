// SPDX-License-Identifier: Apache-2.0

// Package bucketclaim reconciles BucketClaims (KEP-1979, "Creating a Bucket", "Accessing an Existing OSP Bucket",
// "Deleting a Bucket"). It creates a Bucket for each claim, or binds a Bucket that an administrator imported. It copies
// the state of the Bucket to the claim, and releases the Bucket when the claim is deleted.
//
// Each reconcile runs one of the lists of steps below. In the Controller, only this package writes BucketClaims, except
// for the UIDs of accesses, which package bucketaccess maintains. The sidecar owns the status of a Bucket, except
// for the condition ReleaseHeld, which this package writes. The package makes no RPC.
package bucketclaim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Reconciler reconciles BucketClaims.
type Reconciler struct {
	reconciler.Base

	// Orphans is the Base for the Buckets of earlier claims. It has its own Runner, because the steps for these Buckets
	// run in addition to those of the claim.
	Orphans reconciler.Base
	// LostClaimGrace is how long a Bucket with a lost claim is held before it is released without a confirmation. Zero
	// means no limit.
	LostClaimGrace time.Duration
	// DeletionPatience is how long a terminating claim may be in use before its conditions report it.
	DeletionPatience time.Duration

	// unbound has the UIDs of claims for which this process created a Bucket, or tried to, and which it has not seen
	// bound. Such a claim may disappear in spite of its finalizer: the API server removes an object if its deletion
	// started before the finalizer was added. Its Bucket was never used.
	unbound sync.Map
}

// provisioning returns the steps for a claim that is not being deleted.
func (r *Reconciler) provisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen),           // does the cache hold our last write?
		reconciler.NewStep("protect", r.protect),               // add the finalizer to the claim
		reconciler.NewStep("dropReferences", r.dropReferences), // remove UIDs of accesses that do not exist
		reconciler.NewStep("findBucket", r.findBucket),         // look up the Bucket
		reconciler.NewStep("createBucket", r.createBucket),     // create it, for a claim of a class
		reconciler.NewStep("checkBinding", r.checkBinding),     // is it the Bucket of this claim?
		reconciler.NewStep("reserveBucket", r.reserveBucket),   // put the UID of the claim on an imported Bucket
		reconciler.NewStep("bind", r.bind),                     // put the name of the Bucket on the claim
		reconciler.NewStep("copyStatus", r.copyStatus),         // copy the state of the Bucket to the claim
	}
}

// deprovisioning returns the steps for a claim that is being deleted.
func (r *Reconciler) deprovisioning() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.SharedStep[*work]("seen", r.Seen),             // does the cache hold our last write?
		reconciler.NewStep("awaitAccesses", r.awaitAccesses),     // wait until no access holds the claim
		reconciler.NewStep("releaseBucket", r.releaseBucket),     // mark the Bucket, and delete it if its policy says so
		reconciler.NewStep("removeFinalizer", r.removeFinalizer), // remove the finalizer from the claim
	}
}

// orphaned returns the steps for Buckets of earlier claims of this name. They run whether or not there is a claim, and
// separately from the claim's own steps: a Bucket that cannot be written must not block a claim that it does not
// belong to.
func (r *Reconciler) orphaned() []reconciler.Step[*work] {
	return []reconciler.Step[*work]{
		reconciler.NewStep("releaseOrphans", r.releaseOrphans), // release or hold each of them
		reconciler.NewStep("awaitGrace", r.awaitGrace),         // requeue for the time when the grace of a held one expires
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.Options.Scope.Includes(req.Namespace) {
		return reconcile.Result{}, nil
	}
	claim := &cosiapi.BucketClaim{}
	w := &work{Request: reconciler.Request{Req: req, Object: claim}, claim: claim}
	err := r.Client.Get(ctx, req.NamespacedName, claim)
	switch {
	case apierrors.IsNotFound(err):
		claim.Namespace, claim.Name = req.Namespace, req.Name // for Events
		w.Gone = true
		return reconciler.Run(ctx, r.Orphans, r.orphaned(), w)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read claim from the cache: %w", err)
	}
	orphans, err := r.cachedOrphans(ctx, w)
	if err != nil {
		return reconcile.Result{}, err
	}
	steps := r.provisioning()
	if !claim.DeletionTimestamp.IsZero() {
		steps = r.deprovisioning()
	}
	result, err := reconciler.Run(ctx, r.Base, steps, w)
	if len(orphans) == 0 {
		return result, err
	}
	other, otherErr := reconciler.Run(ctx, r.Orphans, r.orphaned(), w)
	return sooner(result, other), errors.Join(err, otherErr)
}

// sooner returns the result with the earlier requeue.
func sooner(a, b reconcile.Result) reconcile.Result {
	if a.RequeueAfter == 0 || b.RequeueAfter > 0 && b.RequeueAfter < a.RequeueAfter {
		return b
	}
	return a
}

// work is the state of one reconcile.
type work struct {
	reconciler.Request

	// claim is the claim as last read or written.
	claim *cosiapi.BucketClaim
	// bucket is the claim's Bucket, or nil.
	bucket *cosiapi.Bucket
	// class is the claim's class, or nil if it was not read.
	class *cosiapi.BucketClass
	// restored means that the claim may bind to bucket, which an administrator has restored for it.
	restored bool
	// grace is the time until the first held Bucket is released without a confirmation. Zero means that none will be.
	grace time.Duration
}

// DriverName implements reconciler.Work.
func (w *work) DriverName() string {
	switch {
	case w.bucket != nil:
		return w.bucket.Spec.DriverName
	case w.class != nil:
		return w.class.Spec.DriverName
	default:
		return ""
	}
}

// set changes a condition of a claim in memory.
func set(claim *cosiapi.BucketClaim, conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	conditions.Set(&claim.Status.Conditions, conditions.Change{
		Type: conditionType, Status: status, Reason: reason, Message: message, Generation: claim.Generation,
	})
}

// write writes a change of the claim's metadata.
func (r *Reconciler) write(ctx context.Context, w *work, change func()) error {
	changed, err := r.Patch(ctx, w.claim, change)
	w.Fresh = w.Fresh || changed
	return err
}

// writeStatus writes a change of the claim's status.
func (r *Reconciler) writeStatus(ctx context.Context, w *work, change func()) error {
	isProvisioned := func() bool {
		return conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	}
	before := isProvisioned()
	changed, err := r.PatchStatus(ctx, w.claim, change)
	if err != nil {
		return err
	}
	w.Fresh = w.Fresh || changed
	if isProvisioned() && !before {
		r.Finished(w.DriverName(), metrics.OperationCreate, w.claim.CreationTimestamp)
	}
	return nil
}

// reportProblem reports a problem in the conditions of the claim and ends the reconcile. It emits one Event for each
// new cause that refuses the claim, and for a missing class, because its name may be misspelt.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) (reconciler.Verdict, error) {
	known := p.Known(w.claim.Status.Conditions)
	err := r.writeStatus(ctx, w, func() { p.Report(&w.claim.Status.Conditions, w.claim.Generation) })
	if err != nil {
		return reconciler.Verdict{}, err
	}
	waits := p.Policy == conditions.Waits
	if !known && (!waits || p.Reason == conditions.WaitingForClass) {
		r.Events.Warn(w.claim, reconciler.FailedCreateBucket, "BindBucket", p.Message)
	}
	if waits {
		return reconciler.Wait(p.Message), nil
	}
	return reconciler.Done(), nil
}

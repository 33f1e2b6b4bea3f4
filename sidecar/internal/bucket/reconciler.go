// SPDX-License-Identifier: Apache-2.0

// Package bucket reconciles the Buckets of one driver. It implements the sidecar's part of KEP-1979, "Creating a
// Bucket", "Accessing an Existing OSP Bucket" and "Deleting a Bucket". A reconcile is a list of steps. The decisions
// are functions without side effects in rules.go.
//
// The package does not read BucketClaims or classes, and never deletes a Bucket object.
package bucket

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// Reconciler reconciles Buckets. All exported fields are required.
type Reconciler struct {
	scheduling.Caller

	// Driver creates and deletes the backend buckets.
	Driver *driver.Driver

	imports imports
}

// work is the state of one reconcile.
type work struct {
	scheduling.Attempt

	bucket *cosiapi.Bucket
	// response is the driver's response for the provisioned bucket.
	response *cosi.ObjectProtocolAndBucketInfo
	// changed is the result of the changes that the Bucket requests.
	changed bucketchange.Result
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &cosiapi.Bucket{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			r.Forget(req)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read Bucket %q from the cache: %w", req.Name, err)
	}
	w := &work{Attempt: scheduling.Attempt{Request: reconciler.Request{Req: req, Object: b}, Asks: retryWhenChanged(b), Rotation: retryAnnotations(b), Info: r.Info()}, bucket: b}
	defer r.Leave(&w.Attempt)
	if b.Spec.DriverName != w.Info.Name || !r.Options.Scope.Includes(b.Spec.BucketClaimRef.Namespace) {
		return reconcile.Result{}, nil
	}
	var steps []reconciler.Step[*work]
	switch planOf(b) {
	case provision:
		steps = r.provisioningSteps(b, w.Info)
	case retain: // until the Bucket is deleted, which causes a watch event
	default:
		steps = r.deletionSteps()
	}
	return reconciler.Run(ctx, r.Base, steps, w)
}

// provisioningSteps returns the steps for a Bucket in use. Its backend bucket is created, or verified if it is
// imported or was created by another implementation. The parameters of a complete one are changed on request. No
// BeforeStop step may stand between that call and its report.
func (r *Reconciler) provisioningSteps(b *cosiapi.Bucket, info driver.Info) []reconciler.Step[*work] {
	obtain, report := reconciler.NewStep("create", r.create), reconciler.NewStep("reportStatus", r.reportStatus)
	switch {
	case b.Spec.ExistingBucketID != "" || adopted(b):
		obtain = reconciler.NewStep("verify", r.verify)
	case changing(b, info):
		obtain, report = reconciler.NewStep("update", r.update), reconciler.NewStep("reportUpdate", r.reportUpdate)
	}
	return reconciler.Uninterrupted(r.StepLimit,
		reconciler.SharedStep[*work]("seen", r.Seen),                          // the cache has this sidecar's last write
		reconciler.NewStep("checkDriver", r.checkDriver),                      // the driver can serve it; ends if nothing is left to do
		reconciler.NewStep("protect", r.protect),                              // the Bucket has the finalizer
		reconciler.NewStep("awaitRetry", r.awaitRetry),                        // the backoff of the last failed call has passed
		reconciler.NewStep("awaitShare", r.awaitShare),                        // a worker is free for this class
		reconciler.NewStep("reread", r.reread),                                // the API server still has this version
		reconciler.BeforeStop(reconciler.NewStep("generateID", r.generateID)), // phase 1; the ID is stored
		reconciler.BeforeStop(obtain),                                         // phase 2, a check of the existing bucket, or a change
		report,                                                                // the Bucket has the driver's response
	)
}

// deletionSteps returns the steps for a Bucket that is being deleted.
func (r *Reconciler) deletionSteps() []reconciler.Step[*work] {
	return reconciler.Uninterrupted(r.StepLimit,
		reconciler.SharedStep[*work]("seen", r.Seen),                              // the cache has this sidecar's last write
		scheduling.Shared[*work]("awaitRetry", r.AwaitRetry),                      // the backoff of the last failed call has passed
		reconciler.NewStep("awaitShare", r.awaitShare),                            // a worker is free for this class
		reconciler.SharedStep[*work]("reread", r.Reread),                          // the API server still has this version
		reconciler.NewStep("checkReleased", r.checkReleased),                      // no claim needs the Bucket
		reconciler.NewStep("checkID", r.checkID),                                  // the ID of a bucket to delete is known
		reconciler.NewStep("checkUnshared", r.checkUnshared),                      // no other Bucket needs the backend bucket
		reconciler.BeforeStop(reconciler.NewStep("deleteBucket", r.deleteBucket)), // the backend bucket is gone, if that is the plan
		reconciler.NewStep("removeFinalizer", r.removeFinalizer),                  // the API server can delete the Bucket
	)
}

// awaitShare waits for a share of the workers for Buckets with the same parameters. A Bucket without calls needs none.
func (r *Reconciler) awaitShare(_ context.Context, w *work) (reconciler.Verdict, error) {
	if plan := planOf(w.bucket); plan != provision && plan != remove {
		return reconciler.Next(), nil
	}
	return r.Share(&w.Attempt, w.bucket.Spec.Parameters), nil
}

// begin starts a call unless one for the same bucket ID is running.
func (r *Reconciler) begin(w *work) (end func(), wait reconciler.Verdict) {
	id := w.bucket.Status.BucketID
	return r.Begin(&w.Attempt, inflight.Call{About: []string{inflight.BucketID(id)}}, "bucket ID "+id)
}

// callFailed records a failed call and waits until it may be repeated. A provisioned Bucket stays provisioned.
func (r *Reconciler) callFailed(ctx context.Context, w *work, err error) (reconciler.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return reconciler.Verdict{}, err
	}
	b, asked := w.bucket, w.State()
	setFailed, reason, action := scheduling.ProvisionFailed, reconciler.FailedCreateBucket, "CreateBucket"
	if planOf(b) != provision {
		setFailed, reason, action = scheduling.DeprovisionFailed, reconciler.FailedDeleteBucket, "DeleteBucket"
	}
	err = r.RecordStatus(ctx, b, sameOrder, func() {
		conditions.Set(&b.Status.Conditions, validated(b, w.Info)) // no claim uses it
		setFailed(&b.Status.Conditions, failure, b.Generation)
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	r.warn(b, reason, action, failure.Message())
	return r.Failed(&w.Attempt, asked, failure), nil
}

// warn emits an Event on the Bucket, and on its claim, where the user sees it.
func (r *Reconciler) warn(b *cosiapi.Bucket, reason reconciler.EventReason, action, note string) {
	r.Events.Warn(b, reason, action, note)
	ref := b.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace, UID: ref.UID}}
	r.Events.Warn(claim, reason, action, fmt.Sprintf("Bucket %q: %s", b.Name, note))
}

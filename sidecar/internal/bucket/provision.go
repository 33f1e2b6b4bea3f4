// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// checkDriver checks that the driver can serve the Bucket before any write and any call. It ends the reconcile of a
// provisioned Bucket.
func (r *Reconciler) checkDriver(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	if awaitsRestore(b) {
		return reconciler.Wait("status.bucketID from the backup"), nil // a write would be a conflict for the restore tool
	}
	p := inconsistency(b, w.Info)
	if p == nil && !complete(b) {
		return reconciler.Next(), nil
	}
	_, err := r.PatchStatus(ctx, b, func() {
		if p != nil {
			p.Report(&b.Status.Conditions, b.Generation)
			return
		}
		conditions.Set(&b.Status.Conditions, validated(b, w.Info))
		observeGeneration(b)
	})
	if err == nil && p == nil && changing(b, w.Info) {
		return reconciler.Next(), nil
	}
	if err != nil || p == nil {
		return reconciler.Done(), err
	}
	r.warn(b, reconciler.FailedCreateBucket, "CreateBucket", p.Message)
	return reconciler.Wait("a new DriverGetInfo response of the driver"), nil
}

// observeGeneration marks the conditions of a Bucket as valid for its current generation.
func observeGeneration(b *cosiapi.Bucket) {
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].ObservedGeneration = b.Generation
	}
}

// protect adds the finalizer, so that the Bucket cannot disappear after the first call to the driver.
func (r *Reconciler) protect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	changed, err := r.Patch(ctx, w.bucket, func() { cosiapi.AddProtection(w.bucket) })
	w.Fresh = w.Fresh || changed
	return reconciler.Next(), err
}

// awaitRetry waits until the calls that create or verify the bucket may be made. If the Bucket is bound during the
// wait, the last result remains valid, and the conditions are updated accordingly.
func (r *Reconciler) awaitRetry(ctx context.Context, w *work) (reconciler.Verdict, error) {
	verdict, err := r.AwaitRetry(ctx, &w.Attempt)
	if err != nil || verdict.Goes() {
		return verdict, err
	}
	_, err = r.PatchStatus(ctx, w.bucket, func() { observeGeneration(w.bucket) })
	return verdict, err
}

// reread checks before phase 2 that the API server still has this version of the Bucket. Phase 1 creates nothing, and its
// ID is stored only in the version that was read.
func (r *Reconciler) reread(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.bucket.Status.BucketID == "" {
		return reconciler.Next(), nil
	}
	return r.Reread(ctx, &w.Request)
}

// generateID stores status.bucketID: the result of phase 1 for a new bucket, or the ID that an administrator set. The
// write is a conflict if the Bucket has changed since it was read, for example because it is being deleted. Only an
// administrator, not a driver, may give a Bucket the ID of another one.
func (r *Reconciler) generateID(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	if b.Status.BucketID != "" {
		return reconciler.Next(), nil
	}
	id := b.Spec.ExistingBucketID
	if id == "" {
		var err error
		id, err = r.Driver.GenerateBucketID(ctx, &cosi.DriverGenerateBucketIdRequest{
			Name: b.Name, Protocols: wanted(b), Parameters: b.Spec.Parameters,
		})
		if err == nil {
			err = r.reserveID(ctx, w, id)
		}
		if err != nil {
			return r.callFailed(ctx, w, err)
		}
		r.History.Succeeded(w.Req)
	}
	_, err := r.PatchStatus(ctx, b, func() { b.Status.BucketID = id })
	w.Fresh = true
	return reconciler.Next(), err
}

// create makes the phase 2 call, after which the backend has the bucket of a dynamically provisioned Bucket.
func (r *Reconciler) create(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	response, err := r.Driver.CreateBucket(ctx, &cosi.DriverCreateBucketRequest{
		BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters,
	})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	return reconciler.Next(), nil
}

// verify checks that the bucket of an imported Bucket, or of one that another implementation created, exists. It
// creates nothing.
func (r *Reconciler) verify(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	response, err := r.Driver.GetBucket(ctx, &cosi.DriverGetBucketRequest{
		BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters,
	})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	return reconciler.Next(), nil
}

// reportStatus writes the driver's response to the status.
func (r *Reconciler) reportStatus(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	r.History.Succeeded(w.Req)
	first := !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) && !adopted(b)
	if err := r.RecordStatus(ctx, b, sameOrder, func() { setProvisioned(w) }); err != nil {
		return reconciler.Verdict{}, err
	}
	if first {
		r.Finished(b.Spec.DriverName, metrics.OperationCreate, b.CreationTimestamp)
	}
	return reconciler.Done(), nil
}

// setProvisioned sets the status of a Bucket from the driver's response.
func setProvisioned(w *work) {
	b := w.bucket
	b.Status.Protocols = secretkeys.Protocols(w.response)
	b.Status.BucketInfo = secretkeys.BucketInfo(w.response)
	conditions.Set(&b.Status.Conditions, validated(b, w.Info))
	scheduling.Provisioned(&b.Status.Conditions, "The backend has the bucket.", b.Generation)
}

// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// checkReleased waits while a claim needs the Bucket that is being deleted.
func (r *Reconciler) checkReleased(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	switch planOf(b) {
	case release, remove:
		if !cosiapi.HasProtection(b) {
			return reconciler.Done(), nil
		}
		return reconciler.Next(), nil
	case hold:
		_, err := r.PatchStatus(ctx, b, func() {
			held := conditions.Change{
				Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionFalse, Reason: conditions.ClaimStillBound,
				Message: holdMessage(b), Generation: b.Generation,
			}
			conditions.Set(&b.Status.Conditions, held)
			held.Type, held.Status = cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown
			conditions.Set(&b.Status.Conditions, held)
		})
		return reconciler.Wait("the deletion of the BucketClaim that is bound to the Bucket"), err
	default:
		return reconciler.Done(), nil
	}
}

// checkID waits if the backend bucket must be deleted and its ID is unknown, and reports this. Otherwise, the bucket
// would be orphaned.
func (r *Reconciler) checkID(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if planOf(w.bucket) != remove || w.bucket.Status.BucketID != "" {
		return reconciler.Next(), nil
	}
	b, unknown := w.bucket, unknownBucket(w.bucket)
	isNew, err := r.PatchStatus(ctx, b, func() {
		conditions.Set(&b.Status.Conditions, validated(b, w.Info)) // no claim uses it
		conditions.Set(&b.Status.Conditions, unknown)
	})
	if err == nil && isNew {
		r.warn(b, reconciler.FailedDeleteBucket, "DeleteBucket", unknown.Message)
	}
	return reconciler.Wait("an administrator who finds the bucket"), err
}

// deleteBucket deletes the backend bucket if that is the plan. It uses a copy that was just compared with the API
// server, so a policy that was changed to Retain is respected until the end. It also deletes a bucket that may not
// exist: its ID is stored, and a call with a lost response may have created it.
func (r *Reconciler) deleteBucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	if planOf(b) != remove {
		return reconciler.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	err := r.Driver.DeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: b.Status.BucketID, Parameters: b.Spec.Parameters})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	return reconciler.Next(), nil
}

// removeFinalizer removes our finalizer. The write is a conflict if the Bucket's request to the driver has changed
// since the comparison with the API server.
func (r *Reconciler) removeFinalizer(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	deleted := *b.DeletionTimestamp
	if err := r.clearFailure(ctx, b); err != nil {
		return reconciler.Verdict{}, err
	}
	if err := r.Record(ctx, b, sameOrder, func() { cosiapi.RemoveProtection(b) }); err != nil {
		return reconciler.Verdict{}, err
	}
	r.History.Succeeded(w.Req)
	r.Deleted(b.Spec.DriverName, deleted, b.Status.Conditions)
	return reconciler.Done(), nil
}

// clearFailure clears the condition of a deletion that waited or failed, if another component's finalizer keeps the
// Bucket visible.
func (r *Reconciler) clearFailure(ctx context.Context, b *cosiapi.Bucket) error {
	if len(b.Finalizers) < 2 {
		return nil
	}
	return r.RecordStatus(ctx, b, sameOrder, func() {
		scheduling.Deprovisioned(&b.Status.Conditions,
			"COSI has finished the deletion. The Bucket remains until other components remove their finalizers.", b.Generation)
	})
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// release lets go of the claim's Bucket. The claim does not wait for the
// backend: what happens to the bucket is told on the Bucket object.
//
// The claim is looked at in the API server first: one that is gone already has
// let go of its Bucket, and what its Bucket says since then is not for it.
func (r *Reconciler) release(ctx context.Context, w *work) (step.Verdict, error) {
	if ok, err := r.refresh(ctx, w); err != nil || !ok {
		return step.Wait("BucketClaim " + w.key.String()), err
	}
	bucket, err := r.liveBucket(ctx, bucketName(w.claim))
	if err != nil {
		return step.Verdict{}, err
	}
	if bucket == nil {
		return step.Next(), nil
	}
	if !owns(w.claim, bucket) {
		return r.releaseForeign(ctx, w, bucket)
	}
	w.bucket = bucket
	if err := r.letGo(ctx, bucket); err != nil {
		return step.Verdict{}, err
	}
	r.Events.Inform(w.claim, events.BucketReleased, "DeleteBucket", r.farewell(ctx, bucket))
	return step.Next(), nil
}

// farewell tells the user what becomes of a Bucket that is released. Nobody
// tells them later: the claim goes, and a Bucket without a sidecar says
// nothing.
func (r *Reconciler) farewell(ctx context.Context, bucket *cosiapi.Bucket) string {
	message := fmt.Sprintf("Bucket %q is released. Its deletionPolicy is %s.", bucket.Name, bucket.Spec.DeletionPolicy)
	if bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete || !cosiapi.HasProtection(bucket) {
		return message
	}
	if missing := r.Sidecars.Missing(ctx, bucket.Spec.DriverName); missing != "" {
		message += " What the backend holds stays until a sidecar deletes it. " + missing
	}
	return message
}

// releaseForeign is for a Bucket that is not the claim's. A claim that never
// bound goes in peace. A claim that was bound has lost its Bucket, and somebody
// must find out how before the last trace of it goes.
func (r *Reconciler) releaseForeign(ctx context.Context, w *work, bucket *cosiapi.Bucket) (step.Verdict, error) {
	if w.claim.Status.BoundBucketName == "" {
		return step.Next(), nil
	}
	message := fmt.Sprintf("Bucket %q, which this BucketClaim is bound to, belongs to %s. COSI deletes neither. "+
		"An administrator must delete that Bucket object, or remove the finalizer of this BucketClaim.", bucket.Name, owner(bucket))
	isNew := !meta.IsStatusConditionTrue(w.stored.Conditions, cosiapi.ConditionDeprovisionFailed)
	w.invalid(conditions.BindingInvalid, message)
	w.set(cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.BindingInvalid, message)
	if err := r.saveStatus(ctx, w); err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, events.FailedDeleteBucket, "DeleteBucket", message)
	}
	return step.Done(), nil
}

// letGo marks a Bucket whose claim is going or gone and, if its policy is
// Delete, deletes it. bucket must come from the API server. The mark comes
// first: the sidecar deprovisions only with both. Its value is the policy that
// was followed, so that a deletion that was cut short can be told from a
// policy that changed after the claim was gone.
func (r *Reconciler) letGo(ctx context.Context, bucket *cosiapi.Bucket) error {
	policy := string(bucket.Spec.DeletionPolicy)
	if cosiapi.SetAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation, policy) {
		if err := r.Client.Update(ctx, bucket); err != nil {
			return ignoreGone(err, "mark Bucket "+bucket.Name)
		}
	}
	if bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete || !bucket.DeletionTimestamp.IsZero() {
		return nil
	}
	uid, version := bucket.UID, bucket.ResourceVersion
	err := r.Client.Delete(ctx, bucket, client.Preconditions{UID: &uid, ResourceVersion: &version})
	return ignoreGone(err, "delete Bucket "+bucket.Name)
}

// ignoreGone wraps err unless it says that the object is gone.
func ignoreGone(err error, doing string) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

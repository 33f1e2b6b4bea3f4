// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// release releases the claim's Bucket. The claim does not wait for the backend:
// the Bucket object says what happens to the bucket.
//
// The claim is looked at in the API server first: one that is gone already has
// released its Bucket, and what its Bucket says since then is not for it.
func (r *Reconciler) release(ctx context.Context, w *work) (step.Verdict, error) {
	if verdict, err := r.Reread(ctx, &w.Turn); err != nil || !verdict.Goes() {
		return verdict, err
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
	if err := r.releaseBucket(ctx, bucket); err != nil {
		return step.Verdict{}, err
	}
	r.unbound.Delete(w.claim.UID)
	r.Events.Inform(w.claim, events.BucketReleased, "DeleteBucket",
		fmt.Sprintf("Bucket %q is released. Its deletionPolicy is %s.", bucket.Name, bucket.Spec.DeletionPolicy))
	return step.Next(), nil
}

// releaseForeign is for a Bucket that is not the claim's. A claim that never
// bound may go. A claim that was bound has lost its Bucket, and somebody must
// find out how before the last trace of it goes.
func (r *Reconciler) releaseForeign(ctx context.Context, w *work, bucket *cosiapi.Bucket) (step.Verdict, error) {
	if w.claim.Status.BoundBucketName == "" {
		return step.Next(), nil
	}
	p := conditions.Refuse(conditions.BindingInvalid, "%s COSI deletes neither. "+
		"An administrator must delete that Bucket object, or remove the finalizer of this BucketClaim.", foreign(bucket))
	isNew := !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue)
	err := r.writeStatus(ctx, w, func() {
		p.Report(&w.claim.Status.Conditions, w.claim.Generation)
		set(w.claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, p.Reason, p.Message)
	})
	if err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, events.FailedDeleteBucket, "DeleteBucket", p.Message)
	}
	return step.Done(), nil
}

// releaseBucket marks a Bucket whose claim is going or gone and, if its policy is
// Delete, deletes it. bucket must come from the API server. The mark comes
// first: the sidecar deprovisions only with both. Its value is the policy that
// was followed, so that a deletion that was cut short can be told from a
// policy that changed after the claim was gone, and the Bucket's UID, so that
// it can be told from one in a backup.
//
// The finalizer of a Bucket that no sidecar made anything for comes off with the
// mark, since none may ever come. A sidecar that is about to store an ID for it is
// refused by the version of the object, and has made nothing.
func (r *Reconciler) releaseBucket(ctx context.Context, bucket *cosiapi.Bucket) error {
	mark := func() {
		cosiapi.SetAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation, cosiapi.ReleaseMark(bucket))
		if untouched(bucket) {
			cosiapi.RemoveProtection(bucket)
		}
	}
	if _, err := r.Patch(ctx, bucket, mark); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.unhold(ctx, bucket); err != nil {
		return client.IgnoreNotFound(err)
	}
	if bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete || !bucket.DeletionTimestamp.IsZero() {
		return nil
	}
	uid, version := bucket.UID, bucket.ResourceVersion
	err := r.Client.Delete(ctx, bucket, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", objects.Name(bucket), err)
	}
	return nil
}

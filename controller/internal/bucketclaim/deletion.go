// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// releaseBucket releases the claim's Bucket. The claim does not wait for the backend: the Bucket object reports the
// state of the backend bucket.
//
// It reads the claim from the API server first. If the claim no longer exists, it has already released its Bucket and
// must not act on the Bucket's newer state.
func (r *Reconciler) releaseBucket(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
		return verdict, err
	}
	name := bucketName(w.claim)
	if w.claim.Status.BoundBucketName == "" { // it may have reserved a restored Bucket
		buckets, err := r.cachedBuckets(ctx, w)
		if err != nil {
			return reconciler.Verdict{}, err
		}
		name = cmp.Or(ownName(w.claim, buckets), name)
	}
	bucket, err := r.liveBucket(ctx, name)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if bucket == nil {
		return reconciler.Next(), nil
	}
	if !owns(w.claim, bucket) {
		return r.keepForeign(ctx, w, bucket)
	}
	w.bucket = bucket
	if err := r.release(ctx, bucket); err != nil {
		return reconciler.Verdict{}, err
	}
	r.unbound.Delete(w.claim.UID)
	r.Events.Inform(w.claim, reconciler.BucketReleased, "DeleteBucket",
		fmt.Sprintf("Bucket %q is released. Its deletionPolicy is %s.", bucket.Name, bucket.Spec.DeletionPolicy))
	return reconciler.Next(), nil
}

// keepForeign keeps a bound claim if its Bucket belongs to another claim: an administrator must investigate before the
// claim is removed. A claim that was never bound is removed.
func (r *Reconciler) keepForeign(ctx context.Context, w *work, bucket *cosiapi.Bucket) (reconciler.Verdict, error) {
	if w.claim.Status.BoundBucketName == "" {
		return reconciler.Next(), nil
	}
	p := conditions.Refuse(conditions.BindingInvalid, "%s COSI does not delete that Bucket or this BucketClaim. "+
		"An administrator must delete that Bucket object, or remove the finalizer of this BucketClaim with the permissions of the ClusterRole cosi-override.", foreign(bucket))
	isNew := !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue)
	err := r.writeStatus(ctx, w, func() {
		p.Report(&w.claim.Status.Conditions, w.claim.Generation)
		set(w.claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, p.Reason, p.Message)
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, reconciler.FailedDeleteBucket, "DeleteBucket", p.Message)
	}
	return reconciler.Done(), nil
}

// release marks a Bucket with a deleted or missing claim and, if its policy is Delete, deletes it. bucket must come
// from the API server. The mark is written first: the sidecar deprovisions only with both. The mark's value contains
// the policy that was followed, to distinguish an interrupted deletion from a policy that changed after the claim was
// deleted, and the Bucket's UID, to distinguish the Bucket from one in a backup.
//
// If no sidecar created anything for the Bucket, its finalizer is removed together with the mark, since a sidecar may
// never run. A sidecar that is about to store an ID for the Bucket gets a conflict and has created nothing.
func (r *Reconciler) release(ctx context.Context, bucket *cosiapi.Bucket) error {
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
		return fmt.Errorf("delete %s: %w", reconciler.ObjectName(bucket), err)
	}
	return nil
}

// removeFinalizer removes the finalizer from the claim, together with UIDs of accesses that no longer exist. The patch
// is refused if the claim has changed since awaitAccesses checked it.
func (r *Reconciler) removeFinalizer(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if err := r.findClass(ctx, w); err != nil {
		return reconciler.Verdict{}, err
	}
	deleted := *w.claim.DeletionTimestamp
	err := r.write(ctx, w, func() {
		references.Clear(w.claim)
		cosiapi.RemoveProtection(w.claim)
	})
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Verdict{}, err
	}
	r.Deleted(w.DriverName(), deleted, w.claim.Status.Conditions)
	return reconciler.Done(), nil
}

// findClass reads the class of a claim without a Bucket. The class names the driver for the metrics.
func (r *Reconciler) findClass(ctx context.Context, w *work) error {
	if w.bucket != nil || w.claim.Spec.BucketClassName == "" {
		return nil
	}
	class := &cosiapi.BucketClass{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: w.claim.Spec.BucketClassName}, class)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read BucketClass %q from the cache: %w", w.claim.Spec.BucketClassName, err)
	}
	if err == nil {
		w.class = class
	}
	return nil
}

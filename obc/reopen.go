// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// reopen withdraws the decision about a claim whose bucket was refused, if the claim was changed since. It deletes all
// objects that were created for the claim, and the ObjectBucket last. The next reconcile decides with the new settings.
// No bucket was delivered until then, so no data can be lost.
func (r *claimReconciler) reopen(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !w.refused() || ignoredChanges(w.claim, w.bucket, changedConfig(w.claim, w.bucket)) == "" {
		return reconciler.Next(), nil
	}
	// The bucket may have been provisioned in the meantime, and the cache may be stale.
	live := &work{Request: w.Request}
	bucketClaim := &cosiapi.BucketClaim{}
	found, err := read(ctx, r.Live, w.Req.Namespace, nameOf(w.uid), bucketClaim)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if found {
		live.bucketClaim = bucketClaim
	}
	if err := r.find(ctx, r.Live, live); err != nil {
		return reconciler.Verdict{}, err
	}
	if live.bucket == nil || live.bucket.UID != w.bucket.UID || !live.refused() {
		return reconciler.Wait("the cache"), nil
	}
	w.reopened = true
	for _, step := range []func(context.Context, *work) (reconciler.Verdict, error){r.withdraw, r.unimport, r.release} {
		if verdict, err := step(ctx, w); err != nil || !verdict.Goes() {
			return verdict, err
		}
	}
	return reconciler.Wait("the deletion of " + reconciler.ObjectName(w.bucket)), nil
}

// refused reports whether the claim never had a bucket, and its BucketClaim is stalled, terminating or deleted.
func (w *work) refused() bool {
	if w.bucket.Status.Phase == objectbucket.PhaseBound {
		return false
	}
	if w.bucketClaim == nil {
		return true
	}
	list := w.bucketClaim.Status.Conditions
	return !conditions.Is(list, cosiapi.ConditionProvisioned, metav1.ConditionTrue) &&
		(w.bucketClaim.DeletionTimestamp != nil || meta.IsStatusConditionTrue(list, cosiapi.ConditionStalled))
}

// release removes the finalizers of the claim and the ObjectBucket, and then deletes the ObjectBucket. Without a
// finalizer, the ObjectBucket is never in the state Terminating, which would be reported as a loss.
func (r *claimReconciler) release(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if _, err := r.Patch(ctx, w.claim, func() { strip(w.claim) }); err != nil {
		return reconciler.Verdict{}, err
	}
	if _, err := r.Patch(ctx, w.bucket, func() { strip(w.bucket) }); err != nil {
		return reconciler.Verdict{}, err
	}
	return reconciler.Next(), r.drop(ctx, w.bucket)
}

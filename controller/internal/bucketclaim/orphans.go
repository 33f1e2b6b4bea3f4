// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// atOnce is the maximum difference between metadata.creationTimestamp and the time at which the Controller created a
// Bucket, which come from two clocks. No backup is restored that quickly.
const atOnce = 10 * time.Second

// releaseOrphans releases Buckets that are bound to an earlier claim of this name and were not released, because its
// finalizer was removed manually or a backup was restored, which gives claims new UIDs. A Bucket that cannot be
// released does not block the others.
func (r *Reconciler) releaseOrphans(ctx context.Context, w *work) (reconciler.Verdict, error) {
	names, err := r.cachedOrphans(ctx, w)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	var failures []error
	for _, name := range names {
		failures = append(failures, r.releaseOrphan(ctx, w, name))
	}
	return reconciler.Next(), errors.Join(failures...)
}

// cachedOrphans returns the names of the Buckets in the cache that reference an earlier claim of this name and are not
// released.
func (r *Reconciler) cachedOrphans(ctx context.Context, w *work) ([]string, error) {
	buckets, err := r.cachedBuckets(ctx, w)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range buckets {
		uid := buckets[i].Spec.BucketClaimRef.UID
		if uid != "" && uid != w.claim.UID && !released(&buckets[i]) {
			names = append(names, buckets[i].Name)
		}
	}
	return names, nil
}

// released reports whether the Controller has finished its work on a Bucket whose claim no longer exists.
func released(bucket *cosiapi.Bucket) bool {
	policy, _, tied := strings.Cut(bucket.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation], "/")
	switch {
	case !cosiapi.Released(bucket):
		return false
	case !tied:
		// The mark is from another controller or an older version, whose marks do not contain the Bucket's UID. It may
		// come from a backup, unless the Bucket is being deleted, which a backup does not restore.
		return !bucket.DeletionTimestamp.IsZero()
	}
	// A Bucket that is marked with the policy Delete but is not being deleted: the release was interrupted.
	unfinished := policy == string(cosiapi.DeletionPolicyDelete) && bucket.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete &&
		bucket.DeletionTimestamp.IsZero()
	return !unfinished && !held(bucket)
}

// releaseOrphan releases one Bucket after the API server has confirmed that its claim does not exist and that no
// access uses the bucket. If the release would delete anything, the Bucket is held until an administrator confirms it.
func (r *Reconciler) releaseOrphan(ctx context.Context, w *work, name string) error {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil || bucket == nil || released(bucket) {
		return err
	}
	ref := bucket.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{}
	err = r.Live.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, claim)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read BucketClaim %q: %w", w.Req, err)
	}
	if err == nil && claim.UID == ref.UID {
		return nil // the cache is stale: a reconcile of that claim follows
	}
	graceOver := r.LostClaimGrace > 0 && held(bucket) && graceLeft(bucket, r.LostClaimGrace, r.Now()) == 0
	if _, unbound := r.unbound.Load(ref.UID); !unbound && !agreed(bucket) && !graceOver {
		return r.hold(ctx, w, bucket)
	}
	accesses, err := r.liveAccesses(ctx, w)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(accesses, func(a cosiapi.BucketAccess) bool { return uses(&a, name) }) {
		return nil // the deletion of that access starts the next reconcile
	}
	if err := r.release(ctx, bucket); err != nil {
		return err
	}
	r.unbound.Delete(ref.UID)
	return nil
}

// agreed reports whether a Bucket without its claim may be released immediately: nothing would be deleted, nothing was
// created, the deletion of its claim was seen, or an administrator has confirmed it.
func agreed(bucket *cosiapi.Bucket) bool {
	return bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete ||
		untouched(bucket) ||
		bucket.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] == cosiapi.ReleaseMark(bucket) ||
		bucket.Annotations[cosiapi.ConfirmReleaseAnnotation] == string(bucket.UID)
}

// untouched reports whether no sidecar ever created anything for the Bucket. Before it does, a sidecar stores the ID,
// or the reason why it cannot. One of an earlier version stored that it requests the bucket. A Bucket that was restored
// without its status looks the same, except for its creation time.
func untouched(bucket *cosiapi.Bucket) bool {
	created, err := time.Parse(time.RFC3339, bucket.Annotations[cosiapi.CreatedAnnotation])
	said := slices.ContainsFunc(bucket.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type != cosiapi.ConditionReleaseHeld && !conditions.IsSummary(c) && conditions.Reason(c.Reason) != conditions.Initial
	})
	asked := bucket.Status.BucketID != "" || cosiapi.HasAnnotation(bucket, cosiapi.AskedForAnnotation)
	return err == nil && bucket.CreationTimestamp.Sub(created).Abs() <= atOnce && !asked && !said
}

// held reports whether the Bucket's conditions say that its release is held.
func held(bucket *cosiapi.Bucket) bool {
	return conditions.Is(bucket.Status.Conditions, cosiapi.ConditionReleaseHeld, metav1.ConditionTrue)
}

// graceLeft returns how long the Bucket is still held without a confirmation. Zero means that the grace has expired.
// The condition may come from a backup, so the grace starts at the creation of the object at the earliest.
func graceLeft(bucket *cosiapi.Bucket, grace time.Duration, now time.Time) time.Duration {
	since := now
	if said := meta.FindStatusCondition(bucket.Status.Conditions, cosiapi.ConditionReleaseHeld); said != nil {
		since = said.LastTransitionTime.Time
	}
	if since.Before(bucket.CreationTimestamp.Time) {
		since = bucket.CreationTimestamp.Time
	}
	return max(0, since.Add(grace).Sub(now))
}

// heldMessage returns why the Bucket is held and how to release it.
func heldMessage(bucket *cosiapi.Bucket) string {
	loss := "the Bucket with its data, or set deletionPolicy: Retain to keep the data"
	if bucket.Spec.ExistingBucketID != "" {
		loss = "the Bucket object; the imported backend bucket is kept"
	}
	return fmt.Sprintf("%s, which this Bucket belongs to, does not exist, and COSI has not observed its deletion: the Bucket may come from a backup. "+
		"COSI does not release this Bucket. An administrator must set the annotation %s to %q to delete %s.",
		conditions.ClaimOf(bucket), cosiapi.ConfirmReleaseAnnotation, bucket.UID, loss)
}

// hold holds a Bucket whose claim was lost and records the remaining grace. It removes a mark that came from a backup:
// a sidecar would take it as one of the two signals to delete the backend bucket.
func (r *Reconciler) hold(ctx context.Context, w *work, bucket *cosiapi.Bucket) error {
	_, err := r.Patch(ctx, bucket, func() { cosiapi.RemoveAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation) })
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	message := heldMessage(bucket)
	said := meta.FindStatusCondition(bucket.Status.Conditions, cosiapi.ConditionReleaseHeld)
	known := said != nil && said.Message == message // a condition from a backup names another UID
	_, err = r.PatchStatus(ctx, bucket, func() {
		conditions.Set(&bucket.Status.Conditions, conditions.Change{
			Type: cosiapi.ConditionReleaseHeld, Status: metav1.ConditionTrue, Reason: conditions.BucketClaimMissing,
			Message: message, Generation: bucket.Generation,
		})
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if left := graceLeft(bucket, r.LostClaimGrace, r.Now()); r.LostClaimGrace > 0 && (w.grace == 0 || left < w.grace) {
		w.grace = max(left, time.Second) // zero would mean no limit
	}
	if known {
		return nil
	}
	r.Events.Warn(bucket, reconciler.BucketHeld, "ReleaseBucket", message)
	if w.claim.UID != "" {
		r.Events.Warn(w.claim, reconciler.BucketHeld, "ReleaseBucket", fmt.Sprintf(
			"Bucket %q of an earlier BucketClaim of this name was kept with its data. An administrator must decide whether to delete it; see the conditions of the Bucket.", bucket.Name))
	}
	return nil
}

// unhold removes the condition ReleaseHeld from a Bucket that is released.
func (r *Reconciler) unhold(ctx context.Context, bucket *cosiapi.Bucket) error {
	_, err := r.PatchStatus(ctx, bucket, func() {
		meta.RemoveStatusCondition(&bucket.Status.Conditions, cosiapi.ConditionReleaseHeld)
	})
	return err
}

// awaitGrace requeues the claim for the time when the grace of a held Bucket expires.
func (r *Reconciler) awaitGrace(_ context.Context, w *work) (reconciler.Verdict, error) {
	if w.grace > 0 {
		return reconciler.WaitAtMost(w.grace, "the confirmation of a release by an administrator"), nil
	}
	return reconciler.Done(), nil
}

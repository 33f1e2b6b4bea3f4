// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// atOnce is how far metadata.creationTimestamp may be from the time that the
// Controller created a Bucket, by two clocks; no backup is restored that soon.
const atOnce = 10 * time.Second

// agreed reports whether a Bucket whose claim is gone may be released without
// asking: nothing is deleted, nothing was made, its claim was seen to be
// deleted, or an administrator has confirmed it.
func agreed(bucket *cosiapi.Bucket) bool {
	return bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete ||
		untouched(bucket) ||
		bucket.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] == cosiapi.ReleaseMark(bucket) ||
		bucket.Annotations[cosiapi.ConfirmReleaseAnnotation] == string(bucket.UID)
}

// untouched reports whether no sidecar ever made anything for the Bucket: it
// stores the ID before that, or that it asks for one, and the reason why it cannot. A Bucket that was
// restored without its status looks the same, but for the time of its creation.
func untouched(bucket *cosiapi.Bucket) bool {
	created, err := time.Parse(time.RFC3339, bucket.Annotations[cosiapi.CreatedAnnotation])
	said := slices.ContainsFunc(bucket.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type != cosiapi.ConditionReleaseHeld && conditions.Reason(c.Reason) != conditions.Initial
	})
	asked := bucket.Status.BucketID != "" || cosiapi.HasAnnotation(bucket, cosiapi.AskedForAnnotation)
	return err == nil && bucket.CreationTimestamp.Sub(created).Abs() <= atOnce && !asked && !said
}

// held reports whether the Bucket says that its release is held.
func held(bucket *cosiapi.Bucket) bool {
	return conditions.Is(bucket.Status.Conditions, cosiapi.ConditionReleaseHeld, metav1.ConditionTrue)
}

// graceLeft returns how long the Bucket is held if nobody confirms its release;
// zero means that the grace has passed. A condition may come from a backup and
// count from long ago: nothing is held longer than the object exists.
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

// heldMessage says why the Bucket is held, and how it comes free.
func heldMessage(bucket *cosiapi.Bucket) string {
	loss := "deleted with its data, or deletionPolicy: Retain to keep them"
	if bucket.Spec.ExistingBucketID != "" {
		loss = "deleted without the backend bucket, which was imported"
	}
	return fmt.Sprintf("%s, which this Bucket belongs to, is gone and was not seen to be deleted: the Bucket may come from a backup. "+
		"It is held, and nothing is deleted. An administrator must set the annotation %s to %q to have it %s.",
		conditions.ClaimOf(bucket), cosiapi.ConfirmReleaseAnnotation, bucket.UID, loss)
}

// hold holds a Bucket whose claim is gone without a trace, and remembers how
// long the grace still lasts. A mark that came with a backup is taken off: for a
// sidecar it would be one of two signs to delete the bucket.
func (r *Reconciler) hold(ctx context.Context, w *work, bucket *cosiapi.Bucket) error {
	_, err := r.Patch(ctx, bucket, func() { cosiapi.RemoveAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation) })
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	message := heldMessage(bucket)
	said := meta.FindStatusCondition(bucket.Status.Conditions, cosiapi.ConditionReleaseHeld)
	known := said != nil && said.Message == message // one from a backup names another UID
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
		w.grace = max(left, time.Second) // zero would be none
	}
	if known {
		return nil
	}
	r.Events.Warn(bucket, events.BucketHeld, "ReleaseBucket", message)
	if w.claim.UID != "" {
		r.Events.Warn(w.claim, events.BucketHeld, "ReleaseBucket", fmt.Sprintf(
			"Bucket %q of an earlier BucketClaim of this name is held with its data. An administrator must say what becomes of it.", bucket.Name))
	}
	return nil
}

// unhold takes back that a Bucket is held, which is released now.
func (r *Reconciler) unhold(ctx context.Context, bucket *cosiapi.Bucket) error {
	_, err := r.PatchStatus(ctx, bucket, func() {
		meta.RemoveStatusCondition(&bucket.Status.Conditions, cosiapi.ConditionReleaseHeld)
	})
	return err
}

// awaitGrace comes back when the grace of a held Bucket has passed.
func (r *Reconciler) awaitGrace(_ context.Context, w *work) (step.Verdict, error) {
	if w.grace > 0 {
		return step.WaitAtMost(w.grace, "an administrator who confirms the release of a Bucket"), nil
	}
	return step.Done(), nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// mirror copies to the claim what became of its Bucket, and says if nobody is
// there to make anything of it.
func (r *Reconciler) mirror(ctx context.Context, w *work) (step.Verdict, error) {
	mirrored := w.claim.DeepCopy()
	applyBucket(mirrored, w.bucket)
	silence := r.overdue(ctx, mirrored, conditionOf(w.claim.Status.Conditions, cosiapi.ConditionProvisioned), w.bucket)
	if err := r.writeStatus(ctx, w, func() { w.claim.Status = mirrored.Status }); err != nil {
		return step.Verdict{}, err
	}
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return step.WaitAtMost(silence, objects.Name(w.bucket)), nil
	}
	return step.Done(), nil
}

// overdue puts into the conditions that a Bucket which has waited for long has
// no sidecar. For one that has not, or of which that is not known yet, it returns
// the time until the next look; zero means that nothing is to be said by the
// clock. What was said of a sidecar stands until more is known.
func (r *Reconciler) overdue(ctx context.Context, claim *cosiapi.BucketClaim, said metav1.Condition, bucket *cosiapi.Bucket) time.Duration {
	waits := meta.FindStatusCondition(claim.Status.Conditions, cosiapi.ConditionProvisioned)
	if waits == nil || waits.Status != metav1.ConditionUnknown || !r.Waits.KnowsSidecars() {
		return 0
	}
	if left := r.Waits.Provisioning(bucket, r.Now()); left > 0 {
		return left
	}
	missing, again := r.Waits.MissingSidecar(ctx, bucket.Spec.DriverName)
	if again > 0 {
		if said.Reason == string(conditions.WaitingForSidecar) {
			*waits = said
		}
		return again
	}
	if missing != "" {
		set(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForSidecar,
			fmt.Sprintf("Waiting for Bucket %q to be provisioned. %s", bucket.Name, missing))
	}
	return 0
}

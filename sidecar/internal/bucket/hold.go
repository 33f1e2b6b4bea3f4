// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// hold establishes that the Bucket may go: somebody deleted it, and no claim
// needs it any more.
func (r *Reconciler) hold(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	switch planOf(b) {
	case release, remove:
		if !cosiapi.HasProtection(b) {
			return step.Done(), nil
		}
		return step.Next(), nil
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
		return step.Wait("the deletion of the BucketClaim that is bound to the Bucket"), err
	default:
		return step.Done(), nil
	}
}

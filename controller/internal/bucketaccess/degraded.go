// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// degraded says whether the claims of an access that was handed over are still
// what they were. It takes nothing away from the access: Provisioned is
// the sidecar's.
func (r *Reconciler) degraded(ctx context.Context, w *work) (step.Verdict, error) {
	p := checkHandedOff(w.access, w.facts)
	if p != nil && p.Reason == conditions.BucketClaimDeleting {
		if left := r.unreported(w); left > 0 { // with its namespace, the access is deleted next
			return step.WaitAtMost(left, p.Message), nil
		}
	}
	if p != nil {
		if err := r.regather(ctx, w); err != nil {
			return step.Verdict{}, err
		}
		p = checkHandedOff(w.access, w.facts)
	}
	_, err := r.PatchStatus(ctx, w.access, func() {
		if p == nil {
			w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated, validMessage)
		} else {
			w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, p.Reason, p.Message)
		}
	})
	return step.Next(), err
}

// unreported returns how long the deletion of a claim is still not reported in the conditions of the access.
func (r *Reconciler) unreported(w *work) time.Duration {
	left := r.DeletionPatience
	for _, claim := range w.facts.claims {
		if claim.DeletionTimestamp != nil {
			left = min(left, claim.DeletionTimestamp.Add(r.DeletionPatience).Sub(r.Now()))
		}
	}
	return left
}

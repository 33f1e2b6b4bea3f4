// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// mirror copies to the claim what became of its Bucket.
func (r *Reconciler) mirror(ctx context.Context, w *work) (step.Verdict, error) {
	applyBucket(w.claim, w.bucket)
	if err := r.saveStatus(ctx, w); err != nil {
		return step.Verdict{}, err
	}
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return step.Wait("Bucket " + w.bucket.Name), nil
	}
	return step.Done(), nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// mirror copies the state of the Bucket to the claim.
func (r *Reconciler) mirror(ctx context.Context, w *work) (step.Verdict, error) {
	mirrored := w.claim.DeepCopy()
	applyBucket(mirrored, w.bucket)
	if err := r.writeStatus(ctx, w, func() { w.claim.Status = mirrored.Status }); err != nil {
		return step.Verdict{}, err
	}
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return step.Wait(objects.Name(w.bucket)), nil
	}
	return step.Done(), nil
}

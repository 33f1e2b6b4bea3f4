// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

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
	if p != nil && p.Reason == conditions.BucketClaimDeleting && r.Waits.NamespaceGoes(ctx, w.Req.Namespace, r.Now()) {
		return step.Done(), nil // this access goes next
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

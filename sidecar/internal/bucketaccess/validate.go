// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// validate establishes that what the Controller handed over is complete, fits
// the spec and can be served by the driver.
func (r *Reconciler) validate(ctx context.Context, w *work) (step.Verdict, error) {
	if p := inconsistency(w.access, w.Info); p != nil {
		return step.Wait("a change of the BucketAccess or the driver"), r.tell(ctx, w, p)
	}
	return step.Next(), nil
}

// tell reports a problem on the access. A problem that does not pass by itself
// also means that it cannot be provisioned; an access that is provisioned
// stays so.
func (r *Reconciler) tell(ctx context.Context, w *work, p *problem) error {
	a := w.access
	_, err := r.Store.PatchStatus(ctx, a, func() {
		verdict := invalid(a, p)
		conditions.Merge(&a.Status.Conditions, verdict)
		if provisioned(a) {
			return
		}
		verdict.Type, verdict.Status = cosiapi.ConditionProvisioned, metav1.ConditionFalse
		if p.waits || passes(p.reason) {
			verdict.Status = metav1.ConditionUnknown
		}
		conditions.Set(&a.Status.Conditions, verdict)
	})
	return err
}

// passes reports whether a problem that makes the access invalid goes away
// when somebody frees or repairs another object.
func passes(reason conditions.Reason) bool {
	return reason == conditions.SecretTaken || reason == conditions.SecretNotWritable
}

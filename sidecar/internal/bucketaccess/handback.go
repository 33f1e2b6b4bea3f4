// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// handback tells the Controller that the sidecar is done with the access. The
// write is refused if the access changed since it was compared with the API
// server, so that an account ID that somebody stored meanwhile is revoked.
func (r *Reconciler) handback(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if said := meta.FindStatusCondition(a.Status.Conditions, cosiapi.ConditionDeprovisionFailed); said != nil && said.Status != metav1.ConditionFalse {
		_, err := r.Store.PatchStatus(ctx, a, func() {
			conditions.Set(&a.Status.Conditions, conditions.Change{
				Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
				Message: "The access is revoked and its Secrets are deleted", Generation: a.Generation,
			})
		})
		if err != nil {
			return step.Verdict{}, err
		}
	}
	_, err := r.Store.Patch(ctx, a, func() { cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "") })
	r.Attempts.Clear(w.Req)
	return step.Done(), err
}

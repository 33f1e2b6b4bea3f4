// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// overdue waits for somebody else's part of the deletion, which takes long, and
// says so in the conditions. A failure that the sidecar reports says more, and
// stays.
func (r *Reconciler) overdue(ctx context.Context, w *work, reason conditions.Reason, message string) (step.Verdict, error) {
	if conditions.Is(w.access.Status.Conditions, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue) {
		return step.Wait(string(reason)), nil
	}
	_, err := r.PatchStatus(ctx, w.access, func() {
		conditions.Set(&w.access.Status.Conditions, conditions.Change{
			Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionUnknown, Reason: reason, Message: message, Generation: w.access.Generation,
		})
	})
	return step.Wait(message), err
}

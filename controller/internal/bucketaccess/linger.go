// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/overdue"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// linger waits for somebody else to do their part of the deletion, and says so
// in the conditions once that takes long. A failure that the sidecar reports
// says more, and stays.
func (r *Reconciler) linger(ctx context.Context, w *work, reason conditions.Reason, tell func() string) (step.Verdict, error) {
	if left := overdue.In(w.access, r.Patience, time.Now()); left > 0 {
		return step.WaitAtMost(left, string(reason)), nil
	}
	said := meta.FindStatusCondition(w.access.Status.Conditions, cosiapi.ConditionDeprovisionFailed)
	if said != nil && said.Status == metav1.ConditionTrue {
		return step.Wait(string(reason)), nil
	}
	message := tell()
	conditions.Set(&w.access.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionUnknown, Reason: reason, Message: message, Generation: w.access.Generation,
	})
	return step.Wait(message), r.saveStatus(ctx, w)
}

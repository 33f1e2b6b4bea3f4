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

// markCleanupFinished returns the access to the Controller: in the status, which
// users cannot write, and then by the annotation. Both writes are refused if the
// access asks for something else since it was compared with the API server, so
// that an account ID that somebody stored meanwhile is revoked.
func (r *Reconciler) markCleanupFinished(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if err := r.RecordStatus(ctx, a, sameOrder, func() { finished(a) }); err != nil {
		return step.Verdict{}, err
	}
	err := r.Record(ctx, a, sameOrder, func() { cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "") })
	r.Failures.Forget(w.Req)
	return step.Done(), err
}

// finished puts into the status that nothing is left to clean up, and takes back
// what the conditions say of a deletion that had to wait or failed.
func finished(a *cosiapi.BucketAccess) {
	if a.Status.Cleanup == cosiapi.CleanupPending {
		a.Status.Cleanup = cosiapi.CleanupFinished
	}
	said := meta.FindStatusCondition(a.Status.Conditions, cosiapi.ConditionDeprovisionFailed)
	if said == nil || said.Status == metav1.ConditionFalse {
		return
	}
	conditions.Set(&a.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
		Message: "This BucketAccess is revoked and its Secrets are deleted.", Generation: a.Generation,
	})
}

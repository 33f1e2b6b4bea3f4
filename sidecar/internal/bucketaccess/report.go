// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/step"
)

// report establishes that the access says that it can be used.
func (r *Reconciler) report(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	first := !provisioned(a)
	if err := r.RecordStatus(ctx, a, sameOrder, func() { delivered(w) }); err != nil {
		return step.Verdict{}, err
	}
	if first {
		r.Finished(a.Status.DriverName, metrics.OperationCreate, a.CreationTimestamp)
	}
	return r.settle(ctx, w)
}

// delivered puts into the conditions that the access was granted and delivered.
func delivered(w *work) {
	a := w.access
	conditions.Merge(&a.Status.Conditions, w.validated())
	conditions.Set(&a.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned,
		Message: "This BucketAccess is granted and its Secrets are written.", Generation: a.Generation,
	})
	conditions.Set(&a.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
		Message: "The last call to the driver succeeded.", Generation: a.Generation,
	})
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
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
	// What is due again by now needs another reconcile: this was the last step.
	verdict, err := r.settle(ctx, w)
	if err != nil || !verdict.Goes() {
		return verdict, err
	}
	return untilDue(r.Now(), r.Now()), nil
}

// delivered puts into the conditions that the access was granted and delivered.
func delivered(w *work) {
	a := w.access
	conditions.Merge(&a.Status.Conditions, w.validated())
	conditions.Set(&a.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned,
		Message: grantedText(w.response), Generation: a.Generation,
	})
	conditions.Set(&a.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
		Message: "The last call to the driver succeeded.", Generation: a.Generation,
	})
}

// grantedText says what the user has, and what stays of it when the access goes.
func grantedText(response *cosi.DriverGrantBucketAccessResponse) string {
	const all = "This BucketAccess is granted and its Secrets are written."
	if response.GetSharedCredential() {
		return all + " Its credential is shared: others have it, too, and it works on when this BucketAccess is deleted."
	}
	return all
}

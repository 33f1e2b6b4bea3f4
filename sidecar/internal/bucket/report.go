// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/step"
)

// report establishes that the Bucket says what the driver returned.
func (r *Reconciler) report(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	r.Failures.Forget(w.Req)
	first := !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) && !adopted(b)
	if err := r.RecordStatus(ctx, b, sameOrder, func() { obtained(w) }); err != nil {
		return step.Verdict{}, err
	}
	if first {
		r.Finished(b.Spec.DriverName, metrics.OperationCreate, b.CreationTimestamp)
	}
	return step.Done(), nil
}

// obtained puts into the status what the driver returned.
func obtained(w *work) {
	b := w.bucket
	b.Status.Protocols = secretkeys.Protocols(w.response)
	b.Status.BucketInfo = secretkeys.BucketInfo(w.response)
	conditions.Set(&b.Status.Conditions, validated(b, w.Info))
	conditions.Set(&b.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned,
		Message: "The backend has the bucket.", Generation: b.Generation,
	})
	conditions.Set(&b.Status.Conditions, conditions.Change{
		Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
		Message: "The last call to the driver succeeded.", Generation: b.Generation,
	})
}

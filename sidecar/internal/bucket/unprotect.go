// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes our finalizer off, which lets the Bucket go. The write is
// refused if something else is asked for since the Bucket was compared with the
// API server.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	deleted := *b.DeletionTimestamp
	if err := r.recover(ctx, b); err != nil {
		return step.Verdict{}, err
	}
	if err := r.Record(ctx, b, sameOrder, func() { cosiapi.RemoveProtection(b) }); err != nil {
		return step.Verdict{}, err
	}
	r.Failures.Forget(w.Req)
	r.Deleted(b.Spec.DriverName, deleted, b.Status.Conditions)
	return step.Done(), nil
}

// recover takes back what the conditions say of a deletion that had to wait or
// failed, if the finalizer of somebody else keeps the Bucket for others to see.
func (r *Reconciler) recover(ctx context.Context, b *cosiapi.Bucket) error {
	said := meta.FindStatusCondition(b.Status.Conditions, cosiapi.ConditionDeprovisionFailed)
	if said == nil || len(b.Finalizers) < 2 {
		return nil
	}
	return r.RecordStatus(ctx, b, sameOrder, func() {
		conditions.Set(&b.Status.Conditions, conditions.Change{
			Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded,
			Message: "COSI is done with this Bucket, which stays until others take their finalizers off.", Generation: b.Generation,
		})
	})
}

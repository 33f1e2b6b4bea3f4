// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// validate establishes that the driver can serve the Bucket, before anything
// is written to it or asked of the driver. It ends the reconcile of a Bucket
// that is in order.
func (r *Reconciler) validate(ctx context.Context, w *work) (step.Verdict, error) {
	verdict := validated(w.bucket, w.Info)
	valid := verdict.Status == metav1.ConditionTrue
	if valid && !settled(w.bucket) {
		return step.Next(), nil
	}
	_, err := r.PatchStatus(ctx, w.bucket, func() {
		status := &w.bucket.Status
		conditions.Set(&status.Conditions, verdict)
		switch {
		case valid:
			confirm(w.bucket)
		case !conditions.Is(status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue):
			refused := verdict
			refused.Type = cosiapi.ConditionProvisioned
			conditions.Set(&status.Conditions, refused)
		}
	})
	if err != nil {
		return step.Verdict{}, err
	}
	if !valid {
		r.warn(w.bucket, events.FailedCreateBucket, "CreateBucket", verdict.Message)
		return step.Wait("another response of the driver to DriverGetInfo"), nil
	}
	return step.Done(), nil
}

// confirm marks the conditions of a Bucket as true of its present generation.
func confirm(b *cosiapi.Bucket) {
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].ObservedGeneration = b.Generation
	}
}

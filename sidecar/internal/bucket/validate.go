// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// validate establishes that the driver can serve the Bucket, before anything
// is written to it or asked of the driver. It ends the reconcile of a Bucket
// that is in order.
func (r *Reconciler) validate(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	p := inconsistency(b, w.Info)
	if p == nil && !settled(b) {
		return step.Next(), nil
	}
	_, err := r.PatchStatus(ctx, b, func() {
		if p != nil {
			p.Report(&b.Status.Conditions, b.Generation)
			return
		}
		conditions.Set(&b.Status.Conditions, validated(b, w.Info))
		confirm(b)
	})
	if err != nil || p == nil {
		return step.Done(), err
	}
	r.warn(b, events.FailedCreateBucket, "CreateBucket", p.Message)
	return step.Wait("another response of the driver to DriverGetInfo"), nil
}

// confirm marks the conditions of a Bucket as true of its present generation.
func confirm(b *cosiapi.Bucket) {
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].ObservedGeneration = b.Generation
	}
}

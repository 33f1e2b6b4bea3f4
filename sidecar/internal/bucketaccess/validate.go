// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// validate establishes that what the Controller handed over is complete, fits
// the spec and can be served by the driver.
func (r *Reconciler) validate(ctx context.Context, w *work) (step.Verdict, error) {
	if p := inconsistency(w.access, w.Info); p != nil {
		return step.Wait("a change of the BucketAccess or the driver"), r.reportProblem(ctx, w, p)
	}
	return step.Next(), nil
}

// reportProblem writes a problem to the conditions of the access.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) error {
	a := w.access
	_, err := r.PatchStatus(ctx, a, func() { p.Report(&a.Status.Conditions, a.Generation) })
	return err
}

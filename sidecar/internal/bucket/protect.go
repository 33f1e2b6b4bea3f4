// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect establishes that the Bucket carries our finalizer, so that from the
// first call to the driver on it cannot disappear behind our back.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	changed, err := r.Patch(ctx, w.bucket, func() { cosiapi.AddProtection(w.bucket) })
	w.Fresh = w.Fresh || changed
	return step.Next(), err
}

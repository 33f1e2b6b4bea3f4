// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect establishes that the access carries the finalizer. The Controller
// has set it as a rule.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	changed, err := r.Store.Patch(ctx, w.access, func() { cosiapi.AddProtection(w.access) })
	w.Fresh = w.Fresh || changed
	return step.Next(), err
}

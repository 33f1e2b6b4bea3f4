// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect establishes that the access carries the finalizer, which the
// Controller has set as a rule, and does not say that we are done with it: an
// access that is made of the manifest of one on its way out, as from a backup,
// would be released with its account and its Secrets left behind.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	changed, err := r.Patch(ctx, w.access, func() {
		cosiapi.AddProtection(w.access)
		cosiapi.RemoveAnnotation(w.access, cosiapi.SidecarCleanupFinishedAnnotation)
	})
	w.Fresh = w.Fresh || changed
	return step.Next(), err
}

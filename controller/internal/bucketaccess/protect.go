// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect puts the protection finalizer on the access. From here on its claims
// count as in use.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	changed, err := r.Patch(ctx, w.access, func() { cosiapi.AddProtection(w.access) })
	if changed {
		w.protected = true
		w.facts.fresh = false // what is looked at before the finalizer is on may still go
	}
	return step.Next(), err
}

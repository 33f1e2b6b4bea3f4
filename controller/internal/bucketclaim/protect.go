// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// protect puts the protection finalizer on the claim, before anything exists
// that must be cleaned up behind it.
func (r *Reconciler) protect(ctx context.Context, w *work) (step.Verdict, error) {
	return step.Next(), r.write(ctx, w, func() { cosiapi.AddProtection(w.claim) })
}

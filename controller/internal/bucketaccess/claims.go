// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// claims stops an access whose claims are missing or being deleted. If a claim
// began to go, or went, after the access was protected, the finalizer comes off
// again: it would hold this claim, or the others of the access, for one that
// cannot be granted.
func (r *Reconciler) claims(ctx context.Context, w *work) (step.Verdict, error) {
	verdict, err := r.check(ctx, w, checkClaims)
	if err != nil || verdict.Goes() {
		return verdict, err
	}
	_, err = r.Patch(ctx, w.access, func() { cosiapi.RemoveProtection(w.access) })
	return verdict, err
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// revoke establishes that the backend has no such account. Without an account
// ID nothing was ever granted and nothing is called; with one the account may
// exist, even if no grant ever succeeded.
func (r *Reconciler) revoke(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.Status.AccountID == "" {
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	if err := r.Driver.RevokeAccess(ctx, revokeRequest(a)); err != nil {
		return r.callFailed(ctx, w, err)
	}
	return step.Next(), nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// grant establishes that the backend has the account with exactly the asked
// access: phase 2, repeated whenever settle finds it due.
func (r *Reconciler) grant(ctx context.Context, w *work) (step.Verdict, error) {
	verdict, err := r.exclusively(w, func() (err error) {
		w.answer, err = r.Driver.GrantAccess(ctx, grantRequest(w.access))
		return err
	})
	if err != nil {
		return r.grantFailed(ctx, w, err)
	}
	return verdict, nil
}

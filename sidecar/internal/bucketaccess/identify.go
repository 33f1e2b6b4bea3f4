// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// identify establishes that status.accountID is stored: phase 1. The write is
// refused if the access changed since it was read, for example because it is
// being deleted.
func (r *Reconciler) identify(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.Status.AccountID != "" {
		return step.Next(), nil
	}
	var id string
	verdict, err := r.exclusively(w, func() (err error) {
		id, err = r.Driver.GenerateAccountID(ctx, idRequest(a))
		return err
	})
	if err != nil {
		return r.grantFailed(ctx, w, err)
	}
	if !verdict.Goes() {
		return verdict, nil
	}
	r.Attempts.Clear(w.Req)
	_, err = r.Store.PatchStatus(ctx, a, func() { a.Status.AccountID = id })
	w.Fresh = true
	return step.Next(), err
}

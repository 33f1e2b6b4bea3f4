// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// reread establishes that the access is still what the cache says, before a
// grant. Phase 1 makes nothing, and what it returns is stored only in the very
// version of the access that was read.
func (r *Reconciler) reread(ctx context.Context, w *work) (step.Verdict, error) {
	if w.access.Status.AccountID == "" {
		return step.Next(), nil
	}
	return r.Reread(ctx, &w.Turn.Turn)
}

// identify establishes that status.accountID is stored, and with it that there
// is something to clean up: phase 1. The write is refused if the access changed
// since it was read, for example because it is being deleted.
func (r *Reconciler) identify(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.Status.AccountID != "" {
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	id, err := r.Driver.GenerateAccountID(ctx, w.asked)
	if err == nil {
		err = r.unique(ctx, w, id)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	r.Failures.Forget(w.Req)
	r.Departed.Granting(a, id)
	_, err = r.PatchStatus(ctx, a, func() { a.Status.AccountID, a.Status.Cleanup = id, cosiapi.CleanupPending })
	if err != nil {
		r.Departed.NotGranting(a)
	}
	w.Fresh, w.order = true, orderOf(w.asked, id, w.Info.Revision)
	return step.Next(), err
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// reread establishes that the access is still what the cache says, before a
// grant. Phase 1 makes nothing, and what it returns is stored only in the very
// version of the access that was read.
func (r *Reconciler) reread(ctx context.Context, w *work) (step.Verdict, error) {
	if w.access.Status.AccountID == "" && !askedFor(w.access) {
		return step.Next(), nil
	}
	return r.Reread(ctx, &w.Turn.Turn)
}

// errDropped refuses a grant that would leave no trace if the sidecar died.
var errDropped = driver.Unsendable(cosi.Provisioner_DriverGrantBucketAccess_FullMethodName, errors.New(
	"the API server drops status.cleanup, without which an account of a driver with one phase could be lost. An administrator must install "+
		"the CustomResourceDefinitions of this version"))

// identify establishes that status.accountID is stored, and with it that there
// is something to clean up: phase 1. The write is refused if the access changed
// since it was read, for example because it is being deleted. Of a driver with one
// phase, only the second can be stored.
func (r *Reconciler) identify(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.Status.AccountID != "" {
		return step.Next(), nil
	}
	if askedFor(a) {
		w.order = orderOf(w.asked, "", w.Info)
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	id, err := r.Driver.GenerateAccountID(ctx, w.asked)
	if w.Info.OnePhase {
		id = "" // until phase 2 tells it
	}
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
	w.Fresh, w.order = true, orderOf(w.asked, id, w.Info)
	if err == nil && id == "" && !askedFor(a) {
		return r.callFailed(ctx, w, errDropped)
	}
	return step.Next(), err
}

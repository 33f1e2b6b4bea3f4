// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// grant establishes that the backend has the account with exactly the asked
// access: phase 2, repeated whenever settle finds it due.
func (r *Reconciler) grant(ctx context.Context, w *work) (step.Verdict, error) {
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	if err := otherPhases(w.access, w.Info); err != nil {
		return r.callFailed(ctx, w, err)
	}
	id, response, err := r.askFor(ctx, w)
	if err := r.learn(ctx, w, id); err != nil {
		return r.callFailed(ctx, w, err)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	if w.wish {
		r.Schedule.Spend(w.Req, w.Info.Epoch, r.Now())
	}
	if w.again != "" {
		r.Regranted(w.again)
	}
	return step.Next(), nil
}

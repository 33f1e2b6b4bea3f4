// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/turn"
)

// revoke establishes that the backend has no such account. Without an account
// ID nothing was ever granted and nothing is called; with one the account may
// exist, even if no grant ever succeeded.
func (r *Reconciler) revoke(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if a.Status.AccountID == "" {
		return step.Next(), nil
	}
	verdict, err := r.exclusively(w, func() error { return r.Driver.RevokeAccess(ctx, revokeRequest(a)) })
	if err != nil {
		return r.Failed(ctx, &w.Turn, err, func(f *driver.Failure) {
			turn.DeprovisionFailed(&a.Status.Conditions, f, a.Generation)
		}, func(note string) { r.Events.Warn(a, events.FailedRevokeAccess, "RevokeAccess", note) })
	}
	return verdict, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
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
		return r.failed(ctx, w, err, func(f *driver.Failure) {
			conditions.Set(&a.Status.Conditions, conditions.Change{
				Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionTrue,
				Reason: failureReason(f), Message: f.Error(), Generation: a.Generation,
			})
			r.Events.Warn(a, events.FailedRevokeAccess, "RevokeAccess", f.Error())
		})
	}
	return verdict, nil
}

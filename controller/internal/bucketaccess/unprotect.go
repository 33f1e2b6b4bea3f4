// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes the finalizer off the access.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	if w.access.Status.DriverName == "" { // the class says what driver it is counted for
		if _, err := r.gather(ctx, w); err != nil {
			return step.Verdict{}, err
		}
	}
	deleted := *w.access.DeletionTimestamp
	_, err := r.Patch(ctx, w.access, func() { cosiapi.RemoveProtection(w.access) })
	if client.IgnoreNotFound(err) != nil {
		return step.Verdict{}, err
	}
	r.Deleted(w.DriverName(), deleted, w.access.Status.Conditions)
	return step.Done(), nil
}

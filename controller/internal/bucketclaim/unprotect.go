// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes the finalizer off the claim.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	if !cosiapi.HasProtection(w.claim) {
		return step.Done(), nil
	}
	deleted := *w.claim.DeletionTimestamp
	err := r.write(ctx, w, func() { cosiapi.RemoveProtection(w.claim) })
	if client.IgnoreNotFound(err) != nil {
		return step.Verdict{}, err
	}
	r.Deleted(w.driver(), deleted, w.claim.Status.Conditions)
	return step.Done(), nil
}

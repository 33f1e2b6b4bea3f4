// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unprotect takes the finalizer off the access.
func (r *Reconciler) unprotect(ctx context.Context, w *work) (step.Verdict, error) {
	cosiapi.RemoveProtection(w.access)
	if err := r.saveMeta(ctx, w); err != nil && !apierrors.IsNotFound(err) {
		return step.Verdict{}, err
	}
	r.finished(w)
	return step.Done(), nil
}

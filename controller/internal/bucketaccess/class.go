// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// class stops an access whose class is missing or does not allow it. It comes
// before the finalizer, so that such an access can be deleted without a trace.
func (r *Reconciler) class(ctx context.Context, w *work) (step.Verdict, error) {
	return r.check(ctx, w, checkClass)
}

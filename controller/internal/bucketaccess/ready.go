// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// ready waits until the claims are provisioned, and stops an access that asks
// for something their Buckets do not offer.
func (r *Reconciler) ready(ctx context.Context, w *work) (step.Verdict, error) {
	return r.check(ctx, w, checkBuckets)
}

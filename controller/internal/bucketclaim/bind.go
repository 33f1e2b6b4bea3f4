// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// bind puts the name of the Bucket on the claim, now that the Bucket exists and
// names the claim. From here on a missing Bucket is a loss.
func (r *Reconciler) bind(ctx context.Context, w *work) (step.Verdict, error) {
	if w.claim.Status.BoundBucketName != "" {
		r.unbound.Delete(w.claim.UID)
		return step.Next(), nil
	}
	err := r.writeStatus(ctx, w, func() {
		w.claim.Status.BoundBucketName = w.bucket.Name
		applyBucket(w.claim, w.bucket)
	})
	if err == nil {
		r.unbound.Delete(w.claim.UID)
	}
	return step.Next(), err
}

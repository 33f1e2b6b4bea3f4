// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	"github.com/cooper-cosi/cooper/internal/step"
)

// take puts the claim's UID on an imported Bucket that no claim has bound to.
// It can not be undone, so the claim is looked at in the API server first, and
// the resourceVersion of the Bucket guards against another claim that is
// faster.
func (r *Reconciler) take(ctx context.Context, w *work) (step.Verdict, error) {
	if w.bucket.Spec.BucketClaimRef.UID != "" {
		return step.Next(), nil
	}
	if ok, err := r.refresh(ctx, w); err != nil || !ok {
		return step.Wait("BucketClaim " + w.key.String()), err
	}
	bucket := w.bucket.DeepCopy()
	bucket.Spec.BucketClaimRef.UID = w.claim.UID
	if err := r.Client.Update(ctx, bucket); err != nil {
		return step.Verdict{}, fmt.Errorf("bind Bucket %s to BucketClaim %s: %w", bucket.Name, w.key, err)
	}
	w.bucket = bucket
	return step.Next(), nil
}

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
	if verdict, err := r.Reread(ctx, &w.Turn); err != nil || !verdict.Goes() {
		return verdict, err
	}
	if _, err := r.Patch(ctx, w.bucket, func() { w.bucket.Spec.BucketClaimRef.UID = w.claim.UID }); err != nil {
		return step.Verdict{}, fmt.Errorf("bind to BucketClaim %q: %w", w.Req, err)
	}
	return step.Next(), nil
}

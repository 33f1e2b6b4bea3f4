// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// delete establishes that the backend bucket is gone, if that is the Bucket's
// plan. It runs on a copy that was compared with the API server a moment ago,
// so that a policy that changed to Retain is honoured until the very end. A
// bucket that was perhaps never created is deleted, too: its ID is known, and
// the call that was lost may have created it.
func (r *Reconciler) delete(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	if planOf(b) != remove || w.none {
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	err := r.Driver.DeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: b.Status.BucketID, Parameters: b.Spec.Parameters})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	return step.Next(), nil
}

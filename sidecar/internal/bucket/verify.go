// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// verify establishes that the backend has the bucket that an administrator
// imports (static provisioning), or that others made. It creates nothing.
func (r *Reconciler) verify(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	response, err := r.Driver.GetBucket(ctx, &cosi.DriverGetBucketRequest{
		BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters,
	})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	return step.Next(), nil
}

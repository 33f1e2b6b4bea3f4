// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// create establishes that the backend has the bucket of a dynamically
// provisioned Bucket: phase 2.
func (r *Reconciler) create(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	response, err := r.Driver.CreateBucket(ctx, &cosi.DriverCreateBucketRequest{
		BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters,
	})
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	return step.Next(), nil
}

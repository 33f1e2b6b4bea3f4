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
	verdict, err := r.exclusively(w, b.Status.BucketID, func() (err error) {
		w.answer, err = r.Driver.CreateBucket(ctx, &cosi.DriverCreateBucketRequest{
			BucketId: b.Status.BucketID, Protocols: wanted(b), Parameters: b.Spec.Parameters,
		})
		return err
	})
	if err != nil {
		return r.provisioningFailed(ctx, w, err)
	}
	return verdict, nil
}

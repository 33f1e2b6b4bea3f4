// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// identify establishes that status.bucketID is stored: phase 1 of a new
// bucket, or the ID that an administrator gave. The write is refused if the
// Bucket changed since it was read, for example because it is being deleted. Only
// an administrator may give a Bucket the ID of another one: unique refuses a
// driver's.
func (r *Reconciler) identify(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	if b.Status.BucketID != "" {
		return step.Next(), nil
	}
	id := b.Spec.ExistingBucketID
	if id == "" {
		var err error
		id, err = r.Driver.GenerateBucketID(ctx, &cosi.DriverGenerateBucketIdRequest{
			Name: b.Name, Protocols: wanted(b), Parameters: b.Spec.Parameters,
		})
		if err == nil {
			err = r.unique(ctx, w, id)
		}
		if err != nil {
			return r.callFailed(ctx, w, err)
		}
		r.Failures.Forget(w.Req)
	}
	_, err := r.PatchStatus(ctx, b, func() { b.Status.BucketID = id })
	w.Fresh = true
	return step.Next(), err
}

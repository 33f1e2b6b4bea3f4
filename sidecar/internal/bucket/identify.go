// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// reread establishes that the Bucket is still what the cache says, before what
// phase 2 makes. Phase 1 makes nothing, and what it returns is stored only in the
// very version of the Bucket that was read.
func (r *Reconciler) reread(ctx context.Context, w *work) (step.Verdict, error) {
	if w.bucket.Status.BucketID == "" && !askedFor(w.bucket) {
		return step.Next(), nil
	}
	return r.Reread(ctx, &w.Turn.Turn)
}

// identify establishes that status.bucketID is stored: phase 1 of a new
// bucket, or the ID that an administrator gave. The write is refused if the
// Bucket changed since it was read, for example because it is being deleted. Only
// an administrator may give a Bucket the ID of another one: unique refuses a
// driver's. Of a driver with one phase, only that it will be asked can be stored, and the
// name that it will be asked for.
func (r *Reconciler) identify(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	if b.Status.BucketID != "" || b.Spec.ExistingBucketID == "" && askedFor(b) {
		return step.Next(), nil
	}
	id := b.Spec.ExistingBucketID
	if id == "" {
		var err error
		id, err = r.Driver.GenerateBucketID(ctx, &cosi.DriverGenerateBucketIdRequest{
			Name: b.Name, Protocols: wanted(b), Parameters: b.Spec.Parameters,
		})
		if err == nil && !w.Info.OnePhase {
			err = r.unique(ctx, w, id)
		}
		if err != nil {
			return r.callFailed(ctx, w, err)
		}
		r.Failures.Forget(w.Req)
	}
	if w.Info.OnePhase && b.Spec.ExistingBucketID == "" {
		_, err := r.Patch(ctx, b, func() { cosiapi.SetAnnotation(b, cosiapi.AskedForAnnotation, id) })
		w.Fresh = true
		return step.Next(), err
	}
	_, err := r.PatchStatus(ctx, b, func() { b.Status.BucketID = id })
	w.Fresh = true
	return step.Next(), err
}

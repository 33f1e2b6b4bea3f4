// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"

	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// know establishes that the ID of a bucket that is to be deleted is known. A driver with
// one phase may have made the bucket without anybody hearing of it: the same request, by
// the same name, tells the ID, and makes a bucket, which is deleted next, only if none was
// made. A driver that refuses that request has nothing of the name.
func (r *Reconciler) know(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	if planOf(b) != remove || b.Status.BucketID != "" {
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	if err := otherPhases(b, w.Info); err != nil {
		return r.callFailed(ctx, w, err)
	}
	id, _, err := r.Driver.CreateBucket(ctx, createRequest(b, w.Info))
	if driver.MeansNothing(err) {
		w.none = true
		return step.Next(), nil
	}
	if id != "" {
		err = r.learn(ctx, w, id)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	return step.Next(), nil
}

// learn establishes that status.bucketID is the ID that phase 2 told, if it did.
func (r *Reconciler) learn(ctx context.Context, w *work, id string) error {
	b := w.bucket
	switch known := b.Status.BucketID; {
	case id == "" || id == known:
		return nil
	case known != "":
		return driver.Broken(cosi.Provisioner_DriverCreateBucket_FullMethodName, fmt.Errorf(
			"bucket_id is %q, and was %q for the same name before. An administrator must look into the driver", id, known))
	}
	if err := r.unique(ctx, w, id); err != nil {
		return err
	}
	return r.RecordStatus(ctx, b, sameOrder, func() { b.Status.BucketID = id })
}

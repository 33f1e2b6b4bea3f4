// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
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
	if err := otherPhases(b, w.Info); err != nil {
		return r.callFailed(ctx, w, err)
	}
	id, response, err := r.Driver.CreateBucket(ctx, createRequest(b, w.Info))
	if err := r.learn(ctx, w, id); err != nil {
		return r.callFailed(ctx, w, err)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	return step.Next(), nil
}

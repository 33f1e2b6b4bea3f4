// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// match stops unless the Bucket that was found is this claim's, or is an
// imported one that waits for a claim of this name.
func (r *Reconciler) match(ctx context.Context, w *work) (step.Verdict, error) {
	p := checkBinding(w.claim, w.bucket)
	if p == nil {
		return step.Next(), nil
	}
	live, err := r.liveBucket(ctx, w.bucket.Name)
	if err != nil {
		return step.Verdict{}, err
	}
	if live == nil {
		return step.Wait(objects.Name(w.bucket)), nil // its watch event is on the way
	}
	w.bucket = live
	if p = checkBinding(w.claim, w.bucket); p == nil {
		return step.Next(), nil
	}
	return r.reportProblem(ctx, w, p)
}

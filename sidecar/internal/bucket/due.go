// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/step"
)

// due establishes that the calls that make or verify the bucket may be made.
// While none may, what the last one found stays true of a Bucket that is bound
// meanwhile: its conditions say so.
func (r *Reconciler) due(ctx context.Context, w *work) (step.Verdict, error) {
	due, err := r.Due(ctx, &w.Turn)
	if err != nil || due.Goes() {
		return due, err
	}
	_, err = r.PatchStatus(ctx, w.bucket, func() { confirm(w.bucket) })
	return due, err
}

// share establishes that calls for Buckets with the same parameters leave workers to
// others. What calls nothing needs none.
func (r *Reconciler) share(_ context.Context, w *work) (step.Verdict, error) {
	if plan := planOf(w.bucket); plan != provision && plan != remove {
		return step.Next(), nil
	}
	return r.Share(&w.Turn, w.bucket.Spec.Parameters), nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// find looks up the claim's Bucket. A Bucket that a claim is bound to and that
// is gone is never created again: its data are gone, or an administrator has a
// plan. To say that a Bucket does not exist needs a look past the cache, which
// may lag.
func (r *Reconciler) find(ctx context.Context, w *work) (step.Verdict, error) {
	name := bucketName(w.claim)
	bucket := &cosiapi.Bucket{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if err == nil {
		w.bucket = bucket
		return step.Next(), nil
	}
	if !apierrors.IsNotFound(err) {
		return step.Verdict{}, fmt.Errorf("read Bucket %q from the cache: %w", name, err)
	}
	switch {
	case w.claim.Status.BoundBucketName != "":
		return r.findLive(ctx, w, name, conditions.Refuse(conditions.BucketMissing,
			"Bucket %q, which this BucketClaim is bound to, does not exist. COSI does not create it again. An administrator must restore it, or delete this BucketClaim.", name))
	case w.claim.Spec.ExistingBucketName != "":
		return r.findLive(ctx, w, name, conditions.Wait(conditions.WaitingForBucket, "Waiting for Bucket %q to exist. An administrator must create it.", name))
	default:
		return step.Next(), nil // the next step creates it
	}
}

// findLive looks in the API server for a Bucket that the cache has not got;
// absent is the problem if it is not there either.
func (r *Reconciler) findLive(ctx context.Context, w *work, name string, absent *conditions.Problem) (step.Verdict, error) {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil {
		return step.Verdict{}, err
	}
	if bucket == nil {
		return r.reportProblem(ctx, w, absent)
	}
	w.bucket = bucket
	return step.Next(), nil
}

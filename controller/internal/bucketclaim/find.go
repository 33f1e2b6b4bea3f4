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
// plan. That verdict needs a look past the cache, which may lag.
func (r *Reconciler) find(ctx context.Context, w *work) (step.Verdict, error) {
	name := bucketName(w.claim)
	bucket := &cosiapi.Bucket{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if err == nil {
		w.bucket = bucket
		return step.Next(), nil
	}
	if !apierrors.IsNotFound(err) {
		return step.Verdict{}, fmt.Errorf("read Bucket %s from the cache: %w", name, err)
	}
	switch {
	case w.claim.Status.BoundBucketName != "":
		return r.findLost(ctx, w, name)
	case w.claim.Spec.ExistingBucketName != "":
		w.holdOff(conditions.WaitingForBucket, fmt.Sprintf("Waiting for Bucket %q, which an administrator must create", name))
		return step.Wait("Bucket " + name), r.saveStatus(ctx, w)
	default:
		return step.Next(), nil
	}
}

// findLost looks in the API server for a Bucket that the cache has not got.
func (r *Reconciler) findLost(ctx context.Context, w *work, name string) (step.Verdict, error) {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil {
		return step.Verdict{}, err
	}
	if bucket != nil {
		w.bucket = bucket
		return step.Next(), nil
	}
	return step.Done(), r.refuse(ctx, w, conditions.BucketMissing, fmt.Sprintf(
		"Bucket %q, which this claim is bound to, does not exist any more. COSI does not create it again. Restore the Bucket object, or delete this claim", name))
}

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
		return step.Verdict{}, fmt.Errorf("read Bucket %s from the cache: %w", name, err)
	}
	switch {
	case w.claim.Status.BoundBucketName != "":
		return r.findLive(ctx, w, name, r.lost)
	case w.claim.Spec.ExistingBucketName != "":
		return r.findLive(ctx, w, name, r.awaited)
	default:
		return step.Next(), nil
	}
}

// findLive looks in the API server for a Bucket that the cache has not got;
// absent says what follows if it is not there either.
func (r *Reconciler) findLive(ctx context.Context, w *work, name string, absent func(context.Context, *work, string) (step.Verdict, error)) (step.Verdict, error) {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil {
		return step.Verdict{}, err
	}
	if bucket != nil {
		w.bucket = bucket
		return step.Next(), nil
	}
	return absent(ctx, w, name)
}

// awaited is for a Bucket to import that does not exist yet.
func (r *Reconciler) awaited(ctx context.Context, w *work, name string) (step.Verdict, error) {
	w.holdOff(conditions.WaitingForBucket, fmt.Sprintf("Waiting for Bucket %q to exist. An administrator must create it.", name))
	return step.Wait("Bucket " + name), r.saveStatus(ctx, w)
}

// lost is for a Bucket that the claim is bound to and that is gone.
func (r *Reconciler) lost(ctx context.Context, w *work, name string) (step.Verdict, error) {
	return step.Done(), r.refuse(ctx, w, conditions.BucketMissing, fmt.Sprintf(
		"Bucket %q, which this BucketClaim is bound to, does not exist. COSI does not create it again. An administrator must restore it, or delete this BucketClaim.", name))
}

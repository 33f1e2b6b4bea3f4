// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/step"
)

// bind puts the name of the Bucket on the claim, now that the Bucket exists and
// names the claim. From here on a missing Bucket is a loss.
func (r *Reconciler) bind(ctx context.Context, w *work) (step.Verdict, error) {
	if w.claim.Status.BoundBucketName != "" {
		return step.Next(), nil
	}
	err := r.writeStatus(ctx, w, func() {
		w.claim.Status.BoundBucketName = w.bucket.Name
		applyBucket(w.claim, w.bucket)
	})
	if w.created && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)) {
		return r.withdraw(ctx, w, err)
	}
	return step.Next(), err
}

// withdrawTries is how often a Bucket is released again while its sidecar writes
// to it.
const withdrawTries = 10

// withdraw releases the Bucket that this reconcile made, if its claim had gone by
// then in spite of the finalizer: the API server removes an object whose deletion
// it had begun when the finalizer came. Nobody can have used that Bucket, and
// later nobody can tell it from one whose claim was lost. why is the error of the
// write that found it out; it is returned for a claim that is still there.
func (r *Reconciler) withdraw(ctx context.Context, w *work, why error) (step.Verdict, error) {
	claim := &cosiapi.BucketClaim{}
	err := r.Live.Get(ctx, w.Req.NamespacedName, claim)
	if client.IgnoreNotFound(err) != nil {
		return step.Verdict{}, fmt.Errorf("read BucketClaim %q: %w", w.Req, err)
	}
	if err == nil && claim.UID == w.claim.UID {
		return step.Verdict{}, why
	}
	for range withdrawTries {
		bucket, err := r.liveBucket(ctx, w.bucket.Name)
		if err != nil || bucket == nil {
			return step.Done(), err
		}
		if why = r.releaseBucket(ctx, bucket); !apierrors.IsConflict(why) {
			break
		}
	}
	return step.Done(), why
}

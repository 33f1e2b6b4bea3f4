// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// orphans releases Buckets that are bound to an earlier claim of this name
// which has gone without us: its finalizer was removed by hand, or a backup
// was restored, which gives claims other UIDs.
func (r *Reconciler) orphans(ctx context.Context, w *work) (step.Verdict, error) {
	buckets := &cosiapi.BucketList{}
	if err := r.Client.List(ctx, buckets, client.MatchingFields{index.BucketByClaim: index.ClaimKey(w.Req.NamespacedName)}, objects.ReadOnly); err != nil {
		return step.Verdict{}, fmt.Errorf("list Buckets of BucketClaim %q from the cache: %w", w.Req, err)
	}
	for i := range buckets.Items {
		uid := buckets.Items[i].Spec.BucketClaimRef.UID
		if uid == "" || uid == w.claim.UID || released(&buckets.Items[i]) {
			continue
		}
		if verdict, err := r.orphan(ctx, w, buckets.Items[i].Name); err != nil || !verdict.Goes() {
			return verdict, err
		}
	}
	return step.Next(), nil
}

// released reports whether nothing is left for the Controller to do on a Bucket
// whose claim is gone.
func released(bucket *cosiapi.Bucket) bool {
	policy, _, tied := strings.Cut(bucket.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation], "/")
	switch {
	case !cosiapi.Released(bucket):
		return false
	case !tied:
		// Another controller marked it, or an older one, whose marks name no Bucket. The
		// mark may come from a backup, unless the Bucket is being deleted, which no backup brings.
		return !bucket.DeletionTimestamp.IsZero()
	}
	// A Bucket that was marked as one to delete and is not being deleted: we
	// were cut short in between.
	unfinished := policy == string(cosiapi.DeletionPolicyDelete) && bucket.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete &&
		bucket.DeletionTimestamp.IsZero()
	return !unfinished && !held(bucket)
}

// orphan releases one Bucket, once the API server has confirmed that its claim
// is gone and that no access uses the bucket any more, and holds it until
// somebody agrees if that deletes anything.
func (r *Reconciler) orphan(ctx context.Context, w *work, name string) (step.Verdict, error) {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil || bucket == nil || released(bucket) {
		return step.Next(), err
	}
	ref := bucket.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{}
	err = r.Live.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, claim)
	if err != nil && !apierrors.IsNotFound(err) {
		return step.Verdict{}, fmt.Errorf("read BucketClaim %q: %w", w.Req, err)
	}
	if err == nil && claim.UID == ref.UID {
		return step.Next(), nil // the cache is behind: that claim's own reconcile is to come
	}
	graceOver := r.LostClaimGrace > 0 && held(bucket) && graceLeft(bucket, r.LostClaimGrace, r.Now()) == 0
	if _, unbound := r.unbound.Load(ref.UID); !unbound && !agreed(bucket) && !graceOver {
		return step.Next(), r.hold(ctx, w, bucket)
	}
	accesses, err := r.liveAccesses(ctx, w)
	if err != nil {
		return step.Verdict{}, err
	}
	if slices.ContainsFunc(accesses, func(a cosiapi.BucketAccess) bool { return uses(&a, name) }) {
		return step.Next(), nil // the end of that access starts the next reconcile
	}
	if err := r.releaseBucket(ctx, bucket); err != nil {
		return step.Verdict{}, err
	}
	r.unbound.Delete(ref.UID)
	return step.Next(), nil
}

// liveAccesses lists all accesses of the namespace, from the API server.
func (r *Reconciler) liveAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	list := &cosiapi.BucketAccessList{}
	if err := r.Live.List(ctx, list, client.InNamespace(w.Req.Namespace)); err != nil {
		return nil, fmt.Errorf("list BucketAccesses in namespace %q: %w", w.Req.Namespace, err)
	}
	return list.Items, nil
}

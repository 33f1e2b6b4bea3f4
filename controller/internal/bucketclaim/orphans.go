// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"errors"
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

// releaseOrphans releases Buckets that are bound to an earlier claim of this name, which did not release them: its
// finalizer was removed manually, or a backup was restored, which gives claims other UIDs. A Bucket that cannot be
// released does not keep the others waiting.
func (r *Reconciler) releaseOrphans(ctx context.Context, w *work) (step.Verdict, error) {
	names, err := r.cachedOrphans(ctx, w)
	if err != nil {
		return step.Verdict{}, err
	}
	var failures []error
	for _, name := range names {
		failures = append(failures, r.releaseOrphan(ctx, w, name))
	}
	return step.Next(), errors.Join(failures...)
}

// cachedOrphans returns the names of the Buckets in the cache that refer to an earlier claim of this name and are not
// released.
func (r *Reconciler) cachedOrphans(ctx context.Context, w *work) ([]string, error) {
	buckets := &cosiapi.BucketList{}
	if err := r.Client.List(ctx, buckets, client.MatchingFields{index.BucketByClaim: index.ClaimKey(w.Req.NamespacedName)}, objects.ReadOnly); err != nil {
		return nil, fmt.Errorf("list Buckets of BucketClaim %q from the cache: %w", w.Req, err)
	}
	var names []string
	for i := range buckets.Items {
		uid := buckets.Items[i].Spec.BucketClaimRef.UID
		if uid != "" && uid != w.claim.UID && !released(&buckets.Items[i]) {
			names = append(names, buckets.Items[i].Name)
		}
	}
	return names, nil
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

// releaseOrphan releases one Bucket after the API server has confirmed that its claim does not exist and that no access
// uses the bucket any more. If the release would delete anything, the Bucket is held until an administrator agrees.
func (r *Reconciler) releaseOrphan(ctx context.Context, w *work, name string) error {
	bucket, err := r.liveBucket(ctx, name)
	if err != nil || bucket == nil || released(bucket) {
		return err
	}
	ref := bucket.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{}
	err = r.Live.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, claim)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read BucketClaim %q: %w", w.Req, err)
	}
	if err == nil && claim.UID == ref.UID {
		return nil // the cache is behind: a reconcile of that claim follows
	}
	graceOver := r.LostClaimGrace > 0 && held(bucket) && graceLeft(bucket, r.LostClaimGrace, r.Now()) == 0
	if _, unbound := r.unbound.Load(ref.UID); !unbound && !agreed(bucket) && !graceOver {
		return r.hold(ctx, w, bucket)
	}
	accesses, err := r.liveAccesses(ctx, w)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(accesses, func(a cosiapi.BucketAccess) bool { return uses(&a, name) }) {
		return nil // the deletion of that access starts the next reconcile
	}
	if err := r.releaseBucket(ctx, bucket); err != nil {
		return err
	}
	r.unbound.Delete(ref.UID)
	return nil
}

// liveAccesses lists all accesses of the namespace, from the API server.
func (r *Reconciler) liveAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	list := &cosiapi.BucketAccessList{}
	if err := r.Live.List(ctx, list, client.InNamespace(w.Req.Namespace)); err != nil {
		return nil, fmt.Errorf("list BucketAccesses in namespace %q: %w", w.Req.Namespace, err)
	}
	return list.Items, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// facts are the objects that an access refers to. An object that does not exist is missing or nil.
type facts struct {
	class *cosiapi.BucketAccessClass
	// claims are the claims by name.
	claims map[string]*cosiapi.BucketClaim
	// buckets are the Buckets by the name of the claim that is bound to them.
	buckets map[string]*cosiapi.Bucket
	// fresh reports that they were read from the API server and not from the cache.
	fresh bool
}

// gather reads class, claims and Buckets from the cache.
func (r *Reconciler) gather(ctx context.Context, w *work) (reconciler.Verdict, error) {
	var err error
	w.facts, err = gatherFrom(ctx, r.Client, r.Client, w.access)
	return reconciler.Next(), err
}

// regather reads them from the API server, at most once per reconcile.
func (r *Reconciler) regather(ctx context.Context, w *work) error {
	if w.facts.fresh {
		return nil
	}
	var err error
	w.facts, err = gatherFrom(ctx, r.Live, r.Live, w.access)
	w.facts.fresh = err == nil
	return err
}

// gatherFrom reads class and claims with one reader and Buckets with another.
func gatherFrom(ctx context.Context, reader, ofBuckets client.Reader, access *cosiapi.BucketAccess) (facts, error) {
	f := facts{claims: map[string]*cosiapi.BucketClaim{}, buckets: map[string]*cosiapi.Bucket{}}
	var mu sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	if access.Status.DriverName == "" { // after the hand-off, the access has a copy
		reads.Go(func() error {
			class := &cosiapi.BucketAccessClass{}
			found, err := get(ctx, reader, types.NamespacedName{Name: access.Spec.BucketAccessClassName}, class)
			if found {
				f.class = class
			}
			return err
		})
	}
	for _, c := range access.Spec.BucketClaims {
		reads.Go(func() error {
			claim, bucket, err := gatherClaim(ctx, reader, ofBuckets, types.NamespacedName{Namespace: access.Namespace, Name: c.BucketClaimName})
			mu.Lock()
			defer mu.Unlock()
			if claim != nil {
				f.claims[claim.Name] = claim
			}
			if bucket != nil {
				f.buckets[claim.Name] = bucket
			}
			return err
		})
	}
	err := reads.Wait() // before f is read
	return f, err       //nolint:wrapcheck // get wraps it
}

// gatherClaim reads a claim and its Bucket; nil if one does not exist.
func gatherClaim(ctx context.Context, reader, ofBuckets client.Reader, key types.NamespacedName) (*cosiapi.BucketClaim, *cosiapi.Bucket, error) {
	claim, bucket := &cosiapi.BucketClaim{}, &cosiapi.Bucket{}
	if found, err := get(ctx, reader, key, claim); err != nil || !found {
		return nil, nil, err
	}
	if claim.Status.BoundBucketName == "" {
		return claim, nil, nil
	}
	if found, err := get(ctx, ofBuckets, types.NamespacedName{Name: claim.Status.BoundBucketName}, bucket); err != nil || !found {
		return claim, nil, err
	}
	return claim, bucket, nil
}

// get reads one object and reports whether it exists.
func get(ctx context.Context, reader client.Reader, key types.NamespacedName, obj client.Object) (bool, error) {
	err := reader.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %q: %w", obj, key, err)
	}
	return true, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// ByID is the index of the Buckets in the cache by IDOf.
const ByID = "bucketID"

// Selectable fields of Buckets.
const (
	fieldDriver   = "spec.driverName"
	fieldID       = "status.bucketID"
	fieldImported = "spec.existingBucketID"
)

// alone establishes that nobody else needs the backend bucket that is about to
// be deleted. A cache may be old and a deletion cannot be undone, so the API
// server is asked, too, unless the deletion is new.
func (r *Reconciler) alone(ctx context.Context, w *work) (step.Verdict, error) {
	b := w.bucket
	if planOf(b) != remove || w.none {
		return step.Next(), nil
	}
	keeper, err := r.keeper(ctx, b, r.cached)
	if keeper == nil && err == nil && !justDeleted(b, r.Now()) {
		keeper, err = r.keeper(ctx, b, r.stored)
	}
	if keeper == nil || err != nil {
		return step.Next(), err
	}
	isNew, err := r.PatchStatus(ctx, b, func() {
		conditions.Set(&b.Status.Conditions, validated(b, w.Info)) // no claim holds it any more
		conditions.Set(&b.Status.Conditions, shared(b, keeper))
	})
	if err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.warn(b, events.FailedDeleteBucket, "DeleteBucket", sharedNote)
	}
	return step.Wait("the deletion of " + conditions.Names("Bucket", keeper.Name)), nil
}

// keeper returns one of the Buckets with the ID of b that needs the backend
// bucket; nil means that none does.
func (r *Reconciler) keeper(ctx context.Context, b *cosiapi.Bucket, with func(context.Context, string) ([]cosiapi.Bucket, error)) (*cosiapi.Bucket, error) {
	found, err := with(ctx, IDOf(b))
	if err != nil {
		return nil, err
	}
	for i := range found {
		if keeps(&found[i], b) {
			return &found[i], nil
		}
	}
	return nil, nil //nolint:nilnil // none is no error
}

// unique returns the failure of a driver that returned, for a new bucket, the ID
// of another one.
func (r *Reconciler) unique(ctx context.Context, w *work, id string) error {
	found, err := r.cached(ctx, id)
	if err != nil {
		return err
	}
	for i := range found {
		if isAnother(&found[i], w.bucket) {
			return errTaken
		}
	}
	if !r.Given.Give(w.Req, id) {
		return errTaken
	}
	return nil
}

// errTaken does not say whose the ID is: the user reads it.
var errTaken = driver.Broken(cosi.Provisioner_DriverGenerateBucketId_FullMethodName,
	errors.New("bucket_id is that of another Bucket. An administrator must look into the driver"))

// cached returns the Buckets in the cache that have an ID.
func (r *Reconciler) cached(ctx context.Context, id string) ([]cosiapi.Bucket, error) {
	list := &cosiapi.BucketList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{ByID: id}, objects.ReadOnly); err != nil {
		return nil, fmt.Errorf("look up Buckets with bucket ID %q in the cache: %w", id, err)
	}
	return list.Items, nil
}

// stored returns the Buckets that have an ID by what the API server says. With
// CRDs of a version that lacks the selectable fields it returns all Buckets of
// the driver.
func (r *Reconciler) stored(ctx context.Context, id string) ([]cosiapi.Bucket, error) {
	var found []cosiapi.Bucket
	for _, field := range []string{fieldID, fieldImported} {
		fields := client.MatchingFields{fieldDriver: r.Info().Name, field: id}
		list := &cosiapi.BucketList{}
		err := r.Live.List(ctx, list, fields)
		if apierrors.IsBadRequest(err) {
			delete(fields, field)
			err = r.Live.List(ctx, list, fields)
		}
		if err != nil {
			return nil, fmt.Errorf("list Buckets with bucket ID %q: %w", id, err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
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

// importsLifetime is how long a list of the imports of other drivers is reused. If another driver imports a backend
// bucket within that time, its deletion is not prevented.
const importsLifetime = time.Second

// imports are the Buckets that other drivers import.
type imports struct {
	mu      sync.Mutex
	buckets []cosiapi.Bucket
	until   time.Time
}

// checkUnshared waits while another Bucket needs the backend bucket that is about to be deleted. A cache may be stale and a
// deletion cannot be undone, so the API server is asked, too: about the Buckets of this driver unless the deletion is new,
// and about those that other drivers import, which are not in the cache.
func (r *Reconciler) checkUnshared(ctx context.Context, w *work) (reconciler.Verdict, error) {
	b := w.bucket
	if planOf(b) != remove {
		return reconciler.Next(), nil
	}
	other, err := r.findUser(ctx, b, r.cached)
	if other == nil && err == nil && !justDeleted(b, r.Now()) {
		other, err = r.findUser(ctx, b, r.stored)
	}
	if err != nil {
		return reconciler.Verdict{}, err
	}
	wait := reconciler.Wait
	if other == nil {
		if other, err = r.foreignImport(ctx, b); other == nil || err != nil {
			return reconciler.Next(), err
		}
		wait = func(reason string) reconciler.Verdict { return reconciler.WaitAtMost(r.Options.Resync, reason) } // no watch covers it
	}
	isNew, err := r.PatchStatus(ctx, b, func() {
		conditions.Set(&b.Status.Conditions, validated(b, w.Info)) // no claim uses it
		conditions.Set(&b.Status.Conditions, sharedBucket(b, other))
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if isNew {
		r.warn(b, reconciler.FailedDeleteBucket, "DeleteBucket", sharedNote)
	}
	return wait("the deletion of " + conditions.Names("Bucket", other.Name)), nil
}

// findUser returns a Bucket with the ID of b that needs the backend bucket, or nil.
func (r *Reconciler) findUser(ctx context.Context, b *cosiapi.Bucket, with func(context.Context, string) ([]cosiapi.Bucket, error)) (*cosiapi.Bucket, error) {
	found, err := with(ctx, IDOf(b))
	if err != nil {
		return nil, err
	}
	for i := range found {
		if needsBucket(&found[i], b) {
			return &found[i], nil
		}
	}
	return nil, nil //nolint:nilnil // none is not an error
}

// foreignImport returns a Bucket of another driver that may import the backend bucket of b, or nil. It ignores Buckets
// that an administrator has confirmed to be different buckets.
func (r *Reconciler) foreignImport(ctx context.Context, b *cosiapi.Bucket) (*cosiapi.Bucket, error) {
	imports, err := r.foreignImports(ctx)
	if err != nil {
		return nil, err
	}
	confirmed := strings.FieldsFunc(b.Annotations[cosiapi.ConfirmNotSharedAnnotation], func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	for i := range imports {
		other := &imports[i]
		if importsSameBucket(other, b) && !slices.Contains(confirmed, string(other.UID)) {
			return other, nil
		}
	}
	return nil, nil //nolint:nilnil // none is not an error
}

// foreignImports returns the Buckets that other drivers import. The API server has to search all Buckets for them, so
// the list is reused for importsLifetime: the cost of deleting many Buckets stays linear.
func (r *Reconciler) foreignImports(ctx context.Context) ([]cosiapi.Bucket, error) {
	r.imports.mu.Lock()
	defer r.imports.mu.Unlock()
	if r.Now().Before(r.imports.until) {
		return r.imports.buckets, nil
	}
	list := &cosiapi.BucketList{}
	foreign := fields.AndSelectors(fields.OneTermNotEqualSelector(fieldDriver, r.Info().Name), fields.OneTermNotEqualSelector(fieldImported, ""))
	err := r.Live.List(ctx, list, client.MatchingFieldsSelector{Selector: foreign})
	if apierrors.IsBadRequest(err) { // the CRDs of an earlier version have no such fields
		err = r.Live.List(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("list the Buckets that other drivers import: %w", err)
	}
	r.imports.buckets, r.imports.until = list.Items, r.Now().Add(importsLifetime)
	return list.Items, nil
}

// reserveID fails if the driver returned the ID of another Bucket for a new bucket.
func (r *Reconciler) reserveID(ctx context.Context, w *work, id string) error {
	found, err := r.cached(ctx, id)
	if err != nil {
		return err
	}
	for i := range found {
		if sameDriverOtherBucket(&found[i], w.bucket) {
			return errIDTaken
		}
	}
	if !r.History.ReserveID(w.Req, id) {
		return errIDTaken
	}
	return nil
}

// errIDTaken does not name the other Bucket, because the user of this one reads the message.
var errIDTaken = driver.Broken(cosi.Provisioner_DriverGenerateBucketId_FullMethodName,
	errors.New("bucket_id belongs to another Bucket. An administrator must check the driver"))

// cached returns the Buckets in the cache that have an ID.
func (r *Reconciler) cached(ctx context.Context, id string) ([]cosiapi.Bucket, error) {
	list := &cosiapi.BucketList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{ByID: id}, reconciler.ReadOnly); err != nil {
		return nil, fmt.Errorf("look up Buckets with bucket ID %q in the cache: %w", id, err)
	}
	return list.Items, nil
}

// stored returns the Buckets of this driver that have an ID in the API server. With CRDs of a version without the
// selectable fields it returns all Buckets of the driver.
func (r *Reconciler) stored(ctx context.Context, id string) ([]cosiapi.Bucket, error) {
	var found []cosiapi.Bucket
	for _, field := range []string{fieldID, fieldImported} {
		selected := client.MatchingFields{fieldDriver: r.Info().Name, field: id}
		list := &cosiapi.BucketList{}
		err := r.Live.List(ctx, list, selected)
		if apierrors.IsBadRequest(err) {
			delete(selected, field)
			err = r.Live.List(ctx, list, selected)
		}
		if err != nil {
			return nil, fmt.Errorf("list Buckets with bucket ID %q: %w", id, err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

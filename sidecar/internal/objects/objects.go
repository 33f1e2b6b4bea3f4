// SPDX-License-Identifier: Apache-2.0

// Package objects writes the objects of the sidecar so that no write of
// anybody else is lost and none is made for nothing, and tells whether a copy
// from the cache is still true. It must not know what the writes mean.
package objects

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/written"
)

// recordTries is how often the outcome of a call is written when somebody else
// writes to the object at the same time.
const recordTries = 3

// A Store reads and writes the objects of one kind.
type Store struct {
	// Writer writes objects.
	Writer client.Client
	// Live reads from the API server, past every cache.
	Live client.Reader
	// Written remembers the writes.
	Written *written.Log
}

// Patch applies change, which alters metadata of obj in memory, to the object
// in the API and reports whether there was anything to write. The patch holds
// nothing but the change and is refused as a conflict if the object is not the
// one that obj was read as. Afterwards obj is what the API answered.
func (s Store) Patch(ctx context.Context, obj client.Object, change func()) (bool, error) {
	return s.patch(obj, change, func(p client.Patch) error { return s.Writer.Patch(ctx, obj, p) })
}

// PatchStatus is Patch for changes of the status.
func (s Store) PatchStatus(ctx context.Context, obj client.Object, change func()) (bool, error) {
	return s.patch(obj, change, func(p client.Patch) error { return s.Writer.Status().Patch(ctx, obj, p) })
}

func (s Store) patch(obj client.Object, change func(), write func(client.Patch) error) (bool, error) {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("a copy of %T is no object", obj)
	}
	change()
	if equality.Semantic.DeepEqual(before, obj) {
		return false, nil
	}
	if err := write(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("write %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	s.Written.Note(obj)
	return true, nil
}

// Current reports whether obj is what the API server has right now. If not, a
// watch event about it is on its way, or it is gone.
func (s Store) Current(ctx context.Context, obj client.Object) (bool, error) {
	live, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("a copy of %T is no object", obj)
	}
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("read %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return live.GetUID() == obj.GetUID() && live.GetResourceVersion() == obj.GetResourceVersion(), nil
}

// Record writes the outcome of a call to the driver, which must not be called
// once more only because somebody wrote to the object meanwhile. write, one of
// the above, is then repeated on the object as it is in the API by now, unless
// same finds that the call was about something else: that is a conflict like
// any other. Record reports what write does.
func (s Store) Record(ctx context.Context, obj client.Object, same func(before, now client.Object) bool, write func() (bool, error)) (bool, error) {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("a copy of %T is no object", obj)
	}
	for tries := 1; ; tries++ {
		changed, err := write()
		if !apierrors.IsConflict(err) || tries == recordTries {
			return changed, err
		}
		content := reflect.ValueOf(obj).Elem()
		newer := reflect.New(content.Type())
		now, ok := reflect.TypeAssert[client.Object](newer)
		if !ok {
			return changed, err
		}
		if read := s.Live.Get(ctx, client.ObjectKeyFromObject(before), now); read != nil {
			return changed, errors.Join(err, read)
		}
		if !same(before, now) {
			return changed, err
		}
		content.Set(newer.Elem())
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package objects writes the objects of the sidecar so that no write of
// anybody else is lost and none is made for nothing, and tells whether a copy
// from the cache is still true. It must not know what the writes mean.
package objects

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/written"
)

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

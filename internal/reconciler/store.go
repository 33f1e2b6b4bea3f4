// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/conditions"
)

// recordTries is the maximum number of attempts to write the outcome of a call while other clients write to the
// object.
const recordTries = 3

// ReadOnly lists from the cache without a deep copy of every object. The copies are most of the cost of a lookup per
// event. ReadOnly is safe only if the caller does not modify the items. The cache itself replaces objects and never
// modifies them, but all readers would see a modification by a caller.
const ReadOnly = client.UnsafeDisableDeepCopy

// A Store reads and writes the objects of one kind. Use NewStore.
type Store struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server and bypasses all caches.
	Live client.Reader

	writes *writes
}

// NewStore returns a Store.
func NewStore(c client.Client, live client.Reader) Store {
	return Store{Client: c, Live: live, writes: &writes{}}
}

// Patch applies change to the object in the API, and reports whether there was anything to write. change modifies
// metadata or spec of obj in memory. The patch contains only the change, down to single fields of list items. It fails
// with a conflict if the object has changed since obj was read. After a success, obj is the object that the API server
// returned.
func (s Store) Patch(ctx context.Context, obj client.Object, change func()) (bool, error) {
	return s.patch(ctx, obj, change, func(p client.Patch) error { return s.Client.Patch(ctx, obj, p) })
}

// PatchStatus is like Patch, for changes of the status. If change modifies the conditions of a BucketClaim, Bucket or
// BucketAccess, the same write has the conditions that summarize them.
func (s Store) PatchStatus(ctx context.Context, obj client.Object, change func()) (bool, error) {
	summarized := func() {
		list := conditions.Of(obj)
		if list == nil {
			change()
			return
		}
		before := slices.Clone(*list)
		if change(); !slices.Equal(before, *list) {
			conditions.Summarize(list)
		}
	}
	return s.patch(ctx, obj, summarized, func(p client.Patch) error { return s.Client.Status().Patch(ctx, obj, p) })
}

// Record is like Patch, for the outcome of an external call that must not be repeated only because the object has
// changed in the meantime. If the object has changed, Record applies change to the current object. If same reports that
// the call does not apply to the current object, Record returns a conflict.
func (s Store) Record(ctx context.Context, obj client.Object, same func(before, now client.Object) bool, change func()) error {
	return s.record(ctx, obj, same, func() (bool, error) { return s.Patch(ctx, obj, change) })
}

// RecordStatus is like Record, for changes of the status.
func (s Store) RecordStatus(ctx context.Context, obj client.Object, same func(before, now client.Object) bool, change func()) error {
	return s.record(ctx, obj, same, func() (bool, error) { return s.PatchStatus(ctx, obj, change) })
}

// Seen ensures that obj, from the cache, is at least as new as the last write of this Store. If it is not, a watch
// event for it will follow.
func (s Store) Seen(obj client.Object) Verdict {
	if s.writes.seen(obj) {
		return Next()
	}
	return Wait("the cache to include our own write")
}

// Current reports whether obj is the latest version in the API. If it is not, a watch event will follow, or the object
// was deleted.
func (s Store) Current(ctx context.Context, obj client.Object) (bool, error) {
	live, err := blank(obj)
	if err != nil {
		return false, err
	}
	err = s.Live.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if err != nil {
		return false, wrap("read", obj, client.IgnoreNotFound(err))
	}
	return sameVersion(obj, live), nil
}

// ObjectName returns an object's kind, namespace (if any) and name for messages. The namespace and name are quoted.
func ObjectName(obj client.Object) string {
	name := obj.GetName()
	if obj.GetNamespace() != "" {
		name = obj.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s %q", reflect.TypeOf(obj).Elem().Name(), name)
}

func (s Store) patch(ctx context.Context, obj client.Object, change func(), write func(client.Patch) error) (bool, error) {
	if obj.GetResourceVersion() == "" {
		return false, fmt.Errorf("write %s: it has no resourceVersion", ObjectName(obj))
	}
	before := obj.DeepCopyObject()
	change()
	p, err := newPatch(nil, before, obj)
	if err != nil || len(p.operations) == 0 {
		return false, wrap("write", obj, err)
	}
	err = send(p, obj, write)
	if apierrors.IsInvalid(err) {
		err = s.fit(ctx, p, before, obj, err, write)
	}
	if err != nil {
		return false, wrap("write", obj, err)
	}
	s.writes.note(obj)
	return true, nil
}

// fit retries a patch that the API server refused. There are two causes: the patch was based on another version of the
// object, which is a conflict, or the stored object has fields that its Go type lacks. In the second case the patch is
// computed again from the stored object.
func (s Store) fit(ctx context.Context, refused *patch, before any, obj client.Object, why error, write func(client.Patch) error) error {
	gvk, err := s.Client.GroupVersionKindFor(obj)
	if err != nil {
		return errors.Join(why, err)
	}
	for {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(gvk)
		err := s.Live.Get(ctx, client.ObjectKeyFromObject(obj), live)
		if client.IgnoreNotFound(err) != nil { // the refusal is not final: it may have been a conflict
			return fmt.Errorf("read the object again after the API server rejected the write (%v): %w", why, err) //nolint:errorlint // one cause
		}
		if err != nil || !sameVersion(obj, live) {
			return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, obj.GetName(), why) //nolint:wrapcheck // patch wraps it
		}
		p, err := newPatch(live, before, obj)
		if err != nil {
			return err
		}
		if reflect.DeepEqual(p.operations, refused.operations) {
			return why
		}
		if why = send(p, obj, write); !apierrors.IsInvalid(why) {
			return why
		}
		refused = p // the object has changed since it was read, or the API server rejects its content
	}
}

func send(p *patch, obj client.Object, write func(client.Patch) error) error {
	text, err := p.guarded(obj.GetResourceVersion())
	if err != nil {
		return err
	}
	return write(client.RawPatch(types.JSONPatchType, text))
}

func (s Store) record(ctx context.Context, obj client.Object, same func(before, now client.Object) bool, write func() (bool, error)) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("the copy of %s is not a client.Object", ObjectName(obj))
	}
	for tries := 1; ; tries++ {
		_, err := write()
		if !apierrors.IsConflict(err) || tries == recordTries {
			return err
		}
		now, blankErr := blank(obj)
		if blankErr != nil {
			return errors.Join(err, blankErr)
		}
		if read := s.Live.Get(ctx, client.ObjectKeyFromObject(before), now); read != nil {
			return errors.Join(err, read)
		}
		if !same(before, now) {
			return err
		}
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(now).Elem())
	}
}

// blank returns an empty object of the type of obj.
func blank(obj client.Object) (client.Object, error) {
	empty, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(obj).Elem()))
	if !ok {
		return nil, fmt.Errorf("%T is not a client.Object", obj)
	}
	return empty, nil
}

func sameVersion(a, b client.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

func wrap(what string, obj client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, ObjectName(obj), err)
}

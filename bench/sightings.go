// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A fact is an observed state of an object.
type fact string

const (
	ready fact = "ready"
	goes  fact = "being deleted" // only for the floor
	gone  fact = "gone"
)

// A sighting is a fact about the claim or access of a pair.
type sighting struct {
	fact fact
	kind kind
	of   pair
}

// sightings are the times at which facts were first observed.
type sightings struct {
	mu      sync.Mutex
	when    map[string]time.Time
	changed chan struct{}
	err     error
}

// key identifies the sighting without the class, which an object does not contain.
func (s sighting) key() string {
	return fmt.Sprintf("%s %s %s/%s", s.kind, s.fact, s.of.namespace, s.of.name)
}

// observe watches claims and accesses in all namespaces until ctx ends.
func (s *system) observe(ctx context.Context) (*sightings, error) {
	return s.watch(ctx, s.kinds, func(k kind, object *unstructured.Unstructured) fact {
		if s.what.ready[k].of(object.Object) {
			return ready
		}
		return ""
	})
}

// observeFloor watches the objects of the floor in the same way. Each version of an object is a fact.
func (s *system) observeFloor(ctx context.Context) (*sightings, error) {
	return s.watch(ctx, floorKinds(), func(_ kind, object *unstructured.Unstructured) fact { return fact(object.GetResourceVersion()) })
}

func floorKinds() map[kind]schema.GroupVersionKind {
	kinds := map[kind]schema.GroupVersionKind{}
	for k, name := range map[kind]string{claim: "BucketClaim", access: "BucketAccess", bucket: "Bucket"} {
		kinds[k] = schema.GroupVersionKind{Group: floorGroup, Version: cosiapi.Version, Kind: name}
	}
	return kinds
}

// watch records the facts that states returns for the objects of some kinds. An empty fact is ignored.
func (s *system) watch(ctx context.Context, kinds map[kind]schema.GroupVersionKind, states func(kind, *unstructured.Unstructured) fact) (*sightings, error) {
	seen := &sightings{when: map[string]time.Time{}, changed: make(chan struct{})}
	for kind, gvk := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := s.client.List(ctx, list, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("list %s objects: %w", kind, err)
		}
		// The API server ends a watch whose client is too slow for a burst.
		watching, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return s.client.Watch(ctx, list, &client.ListOptions{Raw: &o})
			},
		})
		if err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", kind, err)
		}
		go func() {
			for event := range watching.ResultChan() {
				seen.note(kind, states, event)
			}
			seen.end(fmt.Errorf("the API server ended the watch of %s objects", kind))
		}()
	}
	return seen, nil
}

func (v *sightings) note(kind kind, states func(kind, *unstructured.Unstructured) fact, event watch.Event) {
	now := time.Now()
	object, known := event.Object.(*unstructured.Unstructured)
	if !known {
		return
	}
	seen := sighting{kind: kind, of: pair{namespace: object.GetNamespace(), name: object.GetName()}, fact: gone}
	if event.Type != watch.Deleted {
		seen.fact = states(kind, object)
	}
	if seen.fact == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.when[seen.key()]; !known {
		v.when[seen.key()] = now
		v.announce()
	}
}

func (v *sightings) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
	v.announce()
}

// announce wakes the waiting goroutines. The caller holds mu.
func (v *sightings) announce() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// await returns the time of a sighting once it has occurred.
func (v *sightings) await(ctx context.Context, s sighting) (time.Time, error) {
	key := s.key()
	for {
		v.mu.Lock()
		when, there := v.when[key]
		changed, err := v.changed, v.err
		v.mu.Unlock()
		switch {
		case there:
			return when, nil
		case err != nil:
			return when, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return when, fmt.Errorf("the %s %s/%s is not %s: %w", s.kind, s.of.namespace, s.of.name, s.fact, ctx.Err())
		}
	}
}

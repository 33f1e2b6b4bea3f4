// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A fact is what was seen of an object.
type fact string

const (
	ready fact = "ready"
	gone  fact = "gone"
)

// A sighting is a fact about the claim or access of a pair.
type sighting struct {
	fact fact
	kind kind
	of   pair
}

// sightings are when facts were first seen.
type sightings struct {
	mu      sync.Mutex
	when    map[string]time.Time
	changed chan struct{}
	err     error
}

// key names it without the class, which an object does not tell.
func (s sighting) key() string {
	return fmt.Sprintf("%s %s %s/%s", s.kind, s.fact, s.of.namespace, s.of.name)
}

// observe watches claims and accesses of all namespaces from now on until ctx ends.
func (s *system) observe(ctx context.Context) (*sightings, error) {
	seen := &sightings{when: map[string]time.Time{}, changed: make(chan struct{})}
	for _, kind := range []kind{claim, access} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(s.kinds[kind])
		if err := s.client.List(ctx, list, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("list %s objects: %w", kind, err)
		}
		now := listOptions(list.GetResourceVersion())
		watching, err := s.client.Watch(ctx, list, now)
		if err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", kind, err)
		}
		go func() {
			for event := range watching.ResultChan() {
				seen.note(kind, s.what.ready[kind], event)
			}
			seen.end(fmt.Errorf("the watch of %s objects ended", kind))
		}()
		context.AfterFunc(ctx, watching.Stop)
	}
	return seen, nil
}

func (v *sightings) note(kind kind, is readiness, event watch.Event) {
	now := time.Now()
	object, known := event.Object.(*unstructured.Unstructured)
	if !known {
		return
	}
	seen := sighting{kind: kind, of: pair{namespace: object.GetNamespace(), name: object.GetName()}}
	switch {
	case event.Type == watch.Deleted:
		seen.fact = gone
	case is.of(object.Object):
		seen.fact = ready
	default:
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

// announce wakes who waits. The caller holds mu.
func (v *sightings) announce() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// await returns when something was seen.
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

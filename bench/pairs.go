// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// creators is the number of users that create or delete concurrently in a burst.
	creators = 8
	// patience is the timeout for pairs.
	patience = time.Hour
)

// A pair is a claim and its access, with the same name.
type pair struct{ namespace, name, class, protocol string }

func (p pair) values() values {
	return values{"NAMESPACE": p.namespace, "NAME": p.name, "CLASS": p.class, "PROTOCOL": p.protocol}
}

// A timing contains the durations for the claims and accesses of a batch, from the request to the observed
// result.
type timing struct {
	// asked is the duration of sending the requests, done the time until all results were observed.
	asked, done      time.Duration
	claims, accesses []time.Duration
	spans            []span // only for single pairs
}

// A span is the time from the first request for a pair to the last observed result.
type span struct{ began, ended time.Time }

func (t *timing) add(more timing) {
	t.asked, t.done = t.asked+more.asked, t.done+more.done
	t.claims, t.accesses = append(t.claims, more.claims...), append(t.accesses, more.accesses...)
	t.spans = append(t.spans, more.spans...)
}

// took adds the duration for an object of a kind.
func (t *timing) took(k kind, span time.Duration) {
	if k == claim {
		t.claims = append(t.claims, span)
		return
	}
	t.accesses = append(t.accesses, span)
}

func (t *timing) of(k kind) []time.Duration {
	if k == claim {
		return t.claims
	}
	return t.accesses
}

// A move is an operation on pairs, with the expected result and the order of requests.
type move struct {
	fact  fact
	order [2]kind
}

var (
	creation = move{fact: ready, order: [2]kind{claim, access}}
	deletion = move{fact: gone, order: [2]kind{access, claim}}
)

// ask sends the request for one object of a pair.
func (s *system) ask(ctx context.Context, m move, k kind, of pair) error {
	if m.fact == gone {
		return s.deleteOne(ctx, k, of)
	}
	object, err := s.object(k, of)
	if err != nil {
		return err
	}
	return s.create(ctx, object)
}

// do performs a move on pairs: either all at once, or one at a time with the access after its claim.
func (s *system) do(ctx context.Context, m move, pairs []pair, single bool) (timing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, err := s.observe(ctx)
	if err != nil {
		return timing{}, err
	}
	if single {
		return s.singly(ctx, m, pairs, seen)
	}
	asked := make([][2]time.Time, len(pairs))
	began := time.Now()
	err = inTurns(ctx, len(pairs), func(ctx context.Context, i int) error {
		for n, k := range m.order {
			asked[i][n] = time.Now()
			if err := s.ask(ctx, m, k, pairs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return timing{}, err
	}
	t := timing{asked: time.Since(began)}
	for i, of := range pairs {
		for n, k := range m.order {
			when, err := seen.await(ctx, sighting{fact: m.fact, kind: k, of: of})
			if err != nil {
				return timing{}, err
			}
			t.took(k, when.Sub(asked[i][n]))
		}
	}
	t.done = time.Since(began)
	return t, nil
}

// inTurns simulates a burst of users: each takes the next of n operations until all are done.
func inTurns(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range n {
		group.Go(func() error { return do(inGroup, i) })
	}
	return group.Wait()
}

func (s *system) singly(ctx context.Context, m move, pairs []pair, seen *sightings) (timing, error) {
	var t timing
	for _, of := range pairs {
		began := time.Now()
		for _, k := range m.order {
			asked := time.Now()
			if err := s.ask(ctx, m, k, of); err != nil {
				return t, err
			}
			when, err := seen.await(ctx, sighting{fact: m.fact, kind: k, of: of})
			if err != nil {
				t.took(k, time.Since(asked))
				return t, err
			}
			t.took(k, when.Sub(asked))
		}
		t.spans = append(t.spans, span{began: began, ended: time.Now()})
		if err := wait(ctx, pause); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (s *system) deleteOne(ctx context.Context, k kind, of pair) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.kinds[k])
	object.SetNamespace(of.namespace)
	object.SetName(of.name)
	if err := s.client.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the %s %s: %w", k, of.name, err)
	}
	return nil
}

// object returns the claim or access of a pair.
func (s *system) object(k kind, of pair) (*unstructured.Unstructured, error) {
	manifest := map[kind]string{claim: s.what.claim, access: s.what.access}[k]
	objects, err := of.values().objects(manifest)
	if err != nil {
		return nil, fmt.Errorf("read %s.yaml: %w", k, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s.yaml contains %d objects instead of one", k, len(objects))
	}
	return objects[0], nil
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(q*float64(len(sorted)-1))]
}

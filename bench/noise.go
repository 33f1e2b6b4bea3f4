// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// hanging is the number of claims whose calls hang.
	hanging = 100
	// enough is how long single pairs are measured during one noise.
	enough = 5 * time.Minute
)

// A noise is background load during the measurement of single pairs.
type noise struct {
	name string
	// make starts the noise and returns a function that ends it.
	make func(ctx context.Context) (end func() error, err error)
	// watched means that its own requests are measured as well.
	watched bool
}

// withNoise measures single pairs without noise, and then with each noise.
func (o *settings) withNoise(ctx context.Context, s *system) ([]table, error) {
	t := table{title: "single pairs"}
	var alone timing
	for _, n := range []noise{
		{name: "alone", make: func(context.Context) (func() error, error) { return func() error { return nil }, nil }},
		{name: "with a watch that reconnects every second", make: s.reconnects},
		{name: fmt.Sprintf("with %d failing claims", o.noise), make: func(ctx context.Context) (func() error, error) { return s.claims(ctx, fails, o.noise) }, watched: true},
		{name: fmt.Sprintf("with %d claims with hanging calls", hanging), make: func(ctx context.Context) (func() error, error) { return s.claims(ctx, hangs, hanging) }},
	} {
		took, steady, err := s.measureDuring(ctx, n, o.singles, o.idle)
		if err != nil {
			return []table{t}, fmt.Errorf("measure %s: %w", n.name, err)
		}
		if len(t.columns) == 0 {
			alone = took
		}
		figures := []figure{{"pairs", float64(len(took.accesses))}}
		for _, k := range []kind{claim, access} {
			figures = append(figures, latencies(string(k), took.of(k), nil, nil)...)
			figures = append(figures, figure{
				string(k) + " p90 / that alone", float64(quantile(took.of(k), 0.9)) / float64(max(quantile(alone.of(k), 0.9), 1)),
			})
		}
		if n.watched {
			figures = append(figures, figure{"requests per second without pairs", float64(steady.total()) / o.idle.Seconds()})
			for _, kind := range slices.Sorted(maps.Keys(steady.requests)) {
				figures = append(figures, figure{"- " + kind, float64(steady.requests[kind]) / o.idle.Seconds()})
			}
		}
		t.columns = append(t.columns, column{name: n.name, figures: figures})
	}
	return []table{t}, nil
}

// measureDuring measures single pairs during a noise, and the requests of the noise alone.
func (s *system) measureDuring(ctx context.Context, n noise, singles int, span time.Duration) (took timing, steady tally, err error) {
	end, err := n.make(ctx)
	if err != nil {
		return took, steady, err
	}
	if n.watched {
		if steady, err = s.steady(ctx, span); err != nil {
			return took, steady, errors.Join(err, end())
		}
	}
	pairs := newPairs(singles, "single", s.drivers, namespace)
	limited, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	took, err = s.do(limited, creation, pairs, true)
	if limited.Err() != nil && ctx.Err() == nil {
		err = nil // the waiting time of the last pair counts as a measurement
	}
	if err := errors.Join(err, end()); err != nil {
		return took, steady, err
	}
	// The last claim has no access if it was not ready in time.
	whole := len(took.accesses)
	_, err = s.do(ctx, deletion, pairs[:whole], false)
	return took, steady, errors.Join(err, s.endClaims(ctx, pairs[whole:len(took.claims)]))
}

// steady returns the requests in a period, after an equally long period in which backoffs can grow.
func (s *system) steady(ctx context.Context, span time.Duration) (tally, error) {
	if err := wait(ctx, span); err != nil {
		return tally{}, err
	}
	if _, err := s.fresh(); err != nil {
		return tally{}, err
	}
	if err := wait(ctx, span); err != nil {
		return tally{}, err
	}
	return s.fresh()
}

// reconnects runs a client that lists and watches all claims and accesses again every second.
func (s *system) reconnects(ctx context.Context) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		for {
			if err := s.connect(ctx); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

// connect lists and watches all claims and accesses for a second.
func (s *system) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, k := range []kind{claim, access} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(s.kinds[k])
		if err := s.client.List(ctx, list); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		watching, err := s.client.Watch(ctx, list)
		if err != nil {
			return fmt.Errorf("watch objects: %w", err)
		}
		context.AfterFunc(ctx, watching.Stop)
		go func() {
			for range watching.ResultChan() { // clients that do not read are disconnected
			}
		}()
	}
	return wait(ctx, time.Second)
}

// claims creates claims of a class with a behaviour, and waits until their first calls were made.
func (s *system) claims(ctx context.Context, of string, n int) (end func() error, err error) {
	d := s.drivers[0]
	if err := s.createClasses(ctx, of, d.name, fmt.Sprintf("{%s: %s}", behaviour, of)); err != nil {
		return nil, err
	}
	if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of}}); err != nil {
		return nil, err
	}
	pairs := newPairs(n, of, []driver{{class: of, protocol: d.protocol}}, of)
	if err := inTurns(ctx, n, func(ctx context.Context, i int) error { return s.ask(ctx, creation, claim, pairs[i]) }); err != nil {
		return nil, err
	}
	return func() error {
		var err error
		if of == hangs {
			_, err = d.ask(ctx, http.MethodDelete)
		}
		return errors.Join(err, s.endClaims(ctx, pairs))
	}, s.tried(ctx)
}

// tried waits until no driver is called for further claims: all have failed once, or the maximum number of
// calls hang.
func (s *system) tried(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	before := -1
	return controlplane.UntilEvery(ctx, 2*time.Second, func(ctx context.Context) error {
		now, err := s.rpcs(ctx)
		made := now[string(memdriver.GenerateBucketID)] - before
		before += made
		if err == nil && made > 0 {
			err = fmt.Errorf("the driver received calls for %d more claims in the last two seconds", made)
		}
		return err
	})
}

// endClaims deletes claims and waits until they no longer exist.
func (s *system) endClaims(ctx context.Context, of []pair) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, err := s.observe(ctx)
	if err != nil {
		return err
	}
	if err := inTurns(ctx, len(of), func(ctx context.Context, i int) error { return s.ask(ctx, deletion, claim, of[i]) }); err != nil {
		return err
	}
	for _, p := range of {
		if _, err := seen.await(ctx, sighting{fact: gone, kind: claim, of: p}); err != nil {
			return err
		}
	}
	return nil
}

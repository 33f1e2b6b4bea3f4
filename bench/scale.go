// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// few is the number of pairs in the baseline of the comparison.
	few = 10
	// large is the size of the parameters of a large class.
	large = 64 << 10
	// settling is how long a starting program may wait, for example for an unreleased Lease of its
	// predecessor.
	settling = 20 * time.Second
)

// atScale measures the cost of many existing pairs.
func (o *settings) atScale(ctx context.Context, s *system) ([]table, error) {
	if o.scale <= few {
		return nil, fmt.Errorf("-scale=%d is too small: set more than %d", o.scale, few)
	}
	grows := table{title: fmt.Sprintf("%d pairs in %d namespaces", o.scale, o.namespaces)}
	rests := table{title: fmt.Sprintf("%d idle pairs", o.scale)}
	namespaces, err := s.newNamespaces(ctx, o.namespaces)
	if err != nil {
		return nil, err
	}
	drivers, err := s.largeClasses(ctx, o.classes)
	if err != nil {
		return nil, err
	}
	pairs := newPairs(o.scale, "many", drivers, namespaces...)
	made := 0
	var first []*phase
	for _, n := range []int{few, o.scale} {
		created := &phase{move: creation, pairs: n - made}
		err := s.measured(ctx, &created.meter, func() (err error) {
			created.timing, err = s.do(ctx, creation, pairs[made:n], false)
			return err
		})
		if err != nil {
			return []table{grows}, err
		}
		beside, phases, err := s.column(ctx, step{name: fmt.Sprintf("a pair with %d others", n), pairs: o.singles, single: true, drivers: s.drivers})
		if err != nil {
			return []table{grows}, err
		}
		if made == 0 {
			first = phases
		}
		beside.figures = append(beside.figures, compared(phases[0], first[0])...)
		grows.columns = append(grows.columns, column{fmt.Sprintf("creation of %d", created.pairs), created.figures()}, beside)
		made = n
	}
	if o.idle > 0 {
		if rests.columns, err = s.restarts(ctx); err != nil {
			return []table{grows, rests}, err
		}
		idle, err := s.idle(ctx, o.idle)
		if err != nil {
			return []table{grows, rests}, err
		}
		rests.columns = append(rests.columns, idle)
	}
	going, err := s.namespaceGoes(ctx, namespaces[0], pairs)
	if err != nil {
		return []table{grows, rests}, err
	}
	grows.columns = append(grows.columns, going)
	if o.idle == 0 {
		return []table{grows}, nil
	}
	return []table{grows, rests}, nil
}

// compared returns the durations of pairs relative to the first phase.
func compared(now, first *phase) []figure {
	var all []figure
	for _, k := range []kind{claim, access} {
		all = append(all, figure{
			fmt.Sprintf("create: %s p50 / with %d others", k, few), float64(quantile(now.timing.of(k), 0.5)) / float64(max(quantile(first.timing.of(k), 0.5), 1)),
		})
	}
	return all
}

// largeClasses returns the drivers with n large classes, if requested.
func (s *system) largeClasses(ctx context.Context, n int) ([]driver, error) {
	if n == 0 {
		return s.drivers, nil
	}
	parameters := fmt.Sprintf("{large: %q}", strings.Repeat("x", large-len("large")))
	var all []driver
	for i := range n {
		d := s.drivers[i%len(s.drivers)]
		d.class = fmt.Sprintf("large-%d", i)
		if err := s.createClasses(ctx, d.class, d.name, parameters); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func (s *system) newNamespaces(ctx context.Context, n int) ([]string, error) {
	var all []string
	for i := range n {
		name := fmt.Sprintf("many-%d", i)
		if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, nil
}

// restarts measures a restart of each program that reports readiness, one at a time.
func (s *system) restarts(ctx context.Context) ([]column, error) {
	var columns []column
	for _, p := range s.programs {
		if p.health == "" {
			continue
		}
		var began time.Time
		var started time.Duration
		var m meter
		err := s.measured(ctx, &m, func() error {
			if err := s.end(p); err != nil {
				return err
			}
			began = time.Now()
			if err := s.launch(p); err != nil {
				return err
			}
			err := controlplane.UntilEvery(ctx, tick, p.isReady)
			started = time.Since(began)
			if err != nil {
				return err
			}
			// It may have to wait for its predecessor's Lease, and then processes all existing objects.
			return wait(ctx, settling)
		})
		if err != nil {
			return nil, fmt.Errorf("restart the %s: %w", p.name, err)
		}
		figures := append([]figure{{"ready after, s", started.Seconds()}, {"last request after, s", m.asked.last.Sub(began).Seconds()}}, m.sums(p.role)...)
		columns = append(columns, column{name: "restart of the " + p.name, figures: figures})
	}
	return columns, nil
}

// isReady asks a program whether it is ready.
func (p *program) isReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("request /readyz: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("request /readyz: %w", err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz returned %s", response.Status)
	}
	return nil
}

// idle measures the activity of components without any changes.
func (s *system) idle(ctx context.Context, span time.Duration) (column, error) {
	var m meter
	if err := s.measured(ctx, &m, func() error { return wait(ctx, span) }); err != nil {
		return column{}, err
	}
	figures := m.sums("")
	for _, role := range slices.Sorted(maps.Keys(m.used)) {
		figures = append(figures, figure{role + ", % of a core", 100 * m.used[role].cpu.Seconds() / span.Seconds()})
	}
	return column{name: fmt.Sprintf("%v idle", span), figures: figures}, nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// quiet is how long nobody makes requests when a step is over.
const quiet = 500 * time.Millisecond

// requests are what controller and sidecar asked of the API server, from its
// audit log. Events and Leases are not counted as writes.
type requests struct {
	byKind                 map[string]int // "user verb resource"
	events, conflicts      int
	secretReads, forbidden int
}

func (s *system) requests() (requests, error) {
	found := requests{byKind: map[string]int{}}
	for _, user := range []string{controllerUser, sidecarUser} {
		entries, err := s.controlPlane.AuditEvents(controlplane.AuditFilter{User: user})
		if err != nil {
			return found, err
		}
		for _, e := range entries {
			found.add(e)
		}
	}
	return found, nil
}

// settledRequests is requests once no more are recorded. A pair is seen to be
// provisioned before its last write is in the audit log, and would be counted in
// the next step.
func (s *system) settledRequests(ctx context.Context) (requests, error) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	last, err := s.requests()
	for err == nil {
		select {
		case <-ctx.Done():
			return requests{}, fmt.Errorf("requests: %w", ctx.Err())
		case <-tick.C:
		}
		var now requests
		if now, err = s.requests(); err == nil && now.writes() == last.writes() && now.events == last.events {
			return now, nil
		}
		last = now
	}
	return requests{}, err
}

func (r *requests) add(e controlplane.AuditEvent) {
	switch {
	case e.Resource == "leases":
	case e.Code == 409:
		r.conflicts++
	case e.Code == 403:
		r.forbidden++
	case e.Code >= 300:
	case e.Resource == "events":
		r.events++
	case e.Verb == "get" && e.Resource == "secrets":
		r.secretReads++
	case slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb):
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		r.byKind[e.User+" "+e.Verb+" "+resource]++
	}
}

func (r requests) minus(earlier requests) requests {
	left := requests{
		byKind: map[string]int{}, events: r.events - earlier.events, conflicts: r.conflicts - earlier.conflicts,
		secretReads: r.secretReads - earlier.secretReads, forbidden: r.forbidden - earlier.forbidden,
	}
	for kind, n := range r.byKind {
		if n -= earlier.byKind[kind]; n > 0 {
			left.byKind[kind] = n
		}
	}
	return left
}

func (r requests) writes() int {
	total := 0
	for _, n := range r.byKind {
		total += n
	}
	return total
}

// A moment is one request of a pair: the n-th of its kind, and when it began
// after the pair was created.
type moment struct {
	kind         string
	after, taken []time.Duration
}

// timeline prints what controller and sidecar ask of the API server for a single
// pair, with the median of all of them: what a pair waits for.
func (s *system) timeline(pairs []span) error {
	var all []controlplane.AuditEvent
	for _, user := range []string{controllerUser, sidecarUser} {
		entries, err := s.controlPlane.AuditEvents(controlplane.AuditFilter{User: user})
		if err != nil {
			return err
		}
		all = append(all, entries...)
	}
	slices.SortFunc(all, func(a, b controlplane.AuditEvent) int { return a.Time.Compare(b.Time) })
	moments := map[string]*moment{}
	for _, pair := range pairs {
		seen := map[string]int{}
		for _, e := range all {
			if e.Time.Before(pair.began) || e.Time.After(pair.ended) || e.Verb == "watch" || e.Resource == "leases" {
				continue
			}
			kind := fmt.Sprintf("%s %s %s/%s %d", e.User, e.Verb, e.Resource, e.Subresource, e.Code)
			seen[kind]++
			if n := seen[kind]; n > 1 {
				kind += fmt.Sprintf(" (%d)", n)
			}
			m := moments[kind]
			if m == nil {
				m = &moment{kind: kind}
				moments[kind] = m
			}
			m.after, m.taken = append(m.after, e.Time.Sub(pair.began)), append(m.taken, e.Answered.Sub(e.Time))
		}
	}
	ordered := slices.SortedFunc(maps.Values(moments), func(a, b *moment) int { return cmp.Compare(quantile(a.after, 0.5), quantile(b.after, 0.5)) })
	fmt.Println("\nrequests of a single pair (median: began, took; in so many pairs):")
	for _, m := range ordered {
		fmt.Printf("%8v %8v %4d %s\n", quantile(m.after, 0.5), quantile(m.taken, 0.5), len(m.after), m.kind)
	}
	return nil
}

// print prints the writes of each kind for each pair.
func (r requests) print(pairs int) {
	for _, kind := range slices.Sorted(maps.Keys(r.byKind)) {
		fmt.Printf("|   %s | | | | | | %.2f | |\n", kind, float64(r.byKind[kind])/float64(pairs))
	}
	fmt.Printf("|   Events | | | | | | %.2f | |\n", float64(r.events)/float64(pairs))
	if r.forbidden > 0 {
		fmt.Printf("\n%d requests were forbidden\n", r.forbidden)
	}
}

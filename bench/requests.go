// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// quiet is how long nobody makes requests when a step is over.
	quiet = 500 * time.Millisecond
	// restless is how long to wait for that: who asks again and again by the clock is never quiet.
	restless = time.Minute
)

// A tally is what components and users asked of the API server. Leases are left out.
type tally struct {
	// requests are all, by "component verb resource". Of users only what they create and delete counts.
	requests map[string]int
	// writes are those of components that changed an object other than an Event.
	writes, conflicts, forbidden int
	last                         time.Time // when the last one came
}

// note counts a request of a component.
func (t *tally) note(role string, e controlplane.AuditEvent) {
	if e.Resource == "leases" || role == user && e.Verb != "create" && e.Verb != "delete" {
		return
	}
	if t.requests == nil {
		t.requests = map[string]int{}
	}
	resource := e.Resource
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}
	t.requests[role+" "+e.Verb+" "+resource]++
	if e.Time.After(t.last) && e.Verb != "watch" { // a watch is recorded when it ends
		t.last = e.Time
	}
	switch {
	case e.Code == 409:
		t.conflicts++
	case e.Code == 403:
		t.forbidden++
	case e.Code < 300 && role != user && e.Resource != "events" && isWrite(e.Verb):
		t.writes++
	}
}

func isWrite(verb string) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb)
}

func (t *tally) add(more tally) {
	if t.requests == nil {
		t.requests = map[string]int{}
	}
	for kind, n := range more.requests {
		t.requests[kind] += n
	}
	if more.last.After(t.last) {
		t.last = more.last
	}
	t.writes, t.conflicts, t.forbidden = t.writes+more.writes, t.conflicts+more.conflicts, t.forbidden+more.forbidden
}

func (t *tally) total() int {
	total := 0
	for n := range maps.Values(t.requests) {
		total += n
	}
	return total
}

// A ledger reads the audit log from where it was read before.
type ledger struct {
	from int64 // where the events begin of which taken are known
	// taken is how many events behind from are known.
	taken int
}

// fresh are the events that were not read before.
func (l *ledger) fresh(c *controlplane.ControlPlane) ([]controlplane.AuditEvent, error) {
	end := c.AuditEnd()
	events, err := c.AuditEvents(controlplane.AuditFilter{From: l.from})
	if err != nil {
		return nil, err
	}
	if len(events) == l.taken { // so all before end is known
		l.from, l.taken = end, 0
		return nil, nil
	}
	events, l.taken = events[l.taken:], len(events)
	return events, nil
}

// fresh is what was asked since the last time.
func (s *system) fresh() (tally, error) {
	var asked tally
	events, err := s.ledger.fresh(s.controlPlane)
	roles := s.roles()
	for _, e := range events {
		if role, known := roles[e.User]; known {
			asked.note(role, e)
		}
	}
	return asked, err
}

// settle waits until components make no more requests, and returns what was asked since the last time. An object is seen
// to be ready before its last write is in the audit log, and would be counted in the next step.
func (s *system) settle(ctx context.Context) (tally, error) {
	var asked tally
	deadline := time.Now().Add(restless)
	for round := 0; ; round++ {
		fresh, err := s.fresh()
		if err != nil {
			return asked, err
		}
		asked.add(fresh)
		if round > 0 && fresh.total() == 0 || time.Now().After(deadline) {
			return asked, nil
		}
		if err := wait(ctx, quiet); err != nil {
			return asked, err
		}
	}
}

// wait lets time pass.
func wait(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-time.After(span):
		return nil
	}
}

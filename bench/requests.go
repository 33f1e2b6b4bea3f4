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
	// quiet is the period without requests that marks the end of a step.
	quiet = 500 * time.Millisecond
	// restless is the timeout for this, because a component that polls is never quiet.
	restless = time.Minute
)

// A tally is the set of requests of components and users to the API server, without Leases.
type tally struct {
	// requests are the counts by "component verb resource". For users, only creations and deletions count.
	requests map[string]int
	// writes are the components' writes that changed an object other than an Event.
	writes, conflicts, forbidden int
	last                         time.Time // time of the last request
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

// A ledger reads the audit log incrementally.
type ledger struct {
	from int64 // offset from which taken events have been read
	// taken is the number of events after from that have been read.
	taken int
}

// fresh returns the events that have not been read.
func (l *ledger) fresh(c *controlplane.ControlPlane) ([]controlplane.AuditEvent, error) {
	end := c.AuditEnd()
	events, err := c.AuditEvents(controlplane.AuditFilter{From: l.from})
	if err != nil {
		return nil, err
	}
	if len(events) == l.taken { // everything before end has been read
		l.from, l.taken = end, 0
		return nil, nil
	}
	events, l.taken = events[l.taken:], len(events)
	return events, nil
}

// fresh returns the requests since the last call.
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

// settle waits until components make no more requests, and returns the requests since the last call. An
// object may be ready before its last write is in the audit log, and the write would be counted in the next
// step.
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

// wait waits for a period.
func wait(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("stop waiting: %w", ctx.Err())
	case <-time.After(span):
		return nil
	}
}

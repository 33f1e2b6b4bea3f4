// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// roundTo is the precision of printed durations.
const roundTo = 100 * time.Microsecond

// A moment is one request of a pair: the n-th of its kind, with its start relative to the creation of the
// pair.
type moment struct {
	kind         string
	after, taken []time.Duration
}

// timeline prints the requests of controller and sidecar for a single pair, with the median over all pairs,
// to show the waits of a pair.
func (s *system) timeline(pairs []span) error {
	all, err := s.controlPlane.AuditEvents(controlplane.AuditFilter{})
	if err != nil {
		return err
	}
	roles := s.roles()
	slices.SortFunc(all, func(a, b controlplane.AuditEvent) int { return a.Time.Compare(b.Time) })
	moments := map[string]*moment{}
	for _, pair := range pairs {
		seen := map[string]int{}
		for _, e := range all {
			role, known := roles[e.User]
			if !known || e.Time.Before(pair.began) || e.Time.After(pair.ended) || e.Verb == "watch" || e.Resource == "leases" {
				continue
			}
			kind := fmt.Sprintf("%s %s %s/%s %d", role, e.Verb, e.Resource, e.Subresource, e.Code)
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
		fmt.Printf("%8v %8v %4d %s\n", quantile(m.after, 0.5).Round(roundTo), quantile(m.taken, 0.5).Round(roundTo), len(m.after), m.kind)
	}
	return nil
}

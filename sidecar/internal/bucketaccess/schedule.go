// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"math/rand/v2"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/backoff"
)

// A Schedule says when each access is granted again although nothing changed.
// It is kept in memory: a sidecar that starts spreads the first time over
// half the interval, so that not all accesses come at once.
type Schedule struct {
	// Interval is the time between two grants; zero means never.
	Interval time.Duration

	mu   sync.Mutex
	next map[reconcile.Request]time.Time
}

// Next returns when the access is granted again; zero means never.
func (s *Schedule) Next(req reconcile.Request, now time.Time) time.Time {
	if s.Interval == 0 {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.next[req]
	if !ok {
		half := s.Interval / 2
		at = now.Add(half + time.Duration(rand.Float64()*float64(half))) //nolint:gosec // spreads load, guards nothing
		s.set(req, at)
	}
	return at
}

// Granted notes that the access was granted now.
func (s *Schedule) Granted(req reconcile.Request, now time.Time) {
	if s.Interval == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(req, now.Add(backoff.Jitter(s.Interval)))
}

// Forget drops an access that is gone.
func (s *Schedule) Forget(req reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.next, req)
}

func (s *Schedule) set(req reconcile.Request, at time.Time) {
	if s.next == nil {
		s.next = map[reconcile.Request]time.Time{}
	}
	s.next[req] = at
}

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
	// Every is the time between two grants, of whatever accesses, that nobody asked
	// for; zero spreads none.
	Every time.Duration

	mu sync.Mutex
	// turns are the times of accesses that wait for such a grant, and last is the
	// latest one that was given away.
	turns map[reconcile.Request]time.Time
	last  time.Time
	next  map[reconcile.Request]time.Time
	// spent is what was granted for what users may bring about.
	spent map[reconcile.Request]spending
}

// A spending is by when all grants of an access would have been made at the rate
// that is allowed in the long run, and the epoch of the driver that made them.
type spending struct {
	until time.Time
	epoch uint64
}

// Users may rotate an access, or change its Secret, as often as they like. Each
// access is granted for that some times at once, and then once in a while.
const (
	grantsAtOnce = 10
	grantEvery   = time.Minute
)

// Rest returns how long an access must wait until it is granted for what a user
// may have brought about. A driver that says something new ends the wait.
func (s *Schedule) Rest(req reconcile.Request, epoch uint64, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.spent[req]
	if last.epoch != epoch {
		return 0
	}
	return max(0, last.until.Add(-(grantsAtOnce-1)*grantEvery).Sub(now))
}

// Spend notes that the access was granted for what a user may have brought about.
func (s *Schedule) Spend(req reconcile.Request, epoch uint64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := now
	if last := s.spent[req]; last.epoch == epoch && last.until.After(now) {
		from = last.until
	}
	add(&s.spent, req, spending{from.Add(grantEvery), epoch})
}

// Turn returns how long an access must wait until it is granted though nobody asked:
// all of them at once, as after a change of the driver, would be a stampede. Who asks
// first is granted first, and has its turn until Settled.
func (s *Schedule) Turn(req reconcile.Request, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.turns[req]
	if !ok {
		if at = s.last.Add(s.Every); at.Before(now) {
			at = now
		}
		s.last = at
		add(&s.turns, req, at)
	}
	return max(0, at.Sub(now))
}

// Settled notes that the access need not be granted again.
func (s *Schedule) Settled(req reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, req)
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
		add(&s.next, req, at)
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
	add(&s.next, req, now.Add(backoff.Jitter(s.Interval)))
}

// Forget drops an access that is gone.
func (s *Schedule) Forget(req reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.next, req)
	delete(s.spent, req)
	delete(s.turns, req)
}

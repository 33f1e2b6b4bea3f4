// SPDX-License-Identifier: Apache-2.0

// Package backoff holds the two clocks of a reconcile: how long to wait after
// a failure, and when to look again although nothing changed. It must not
// decide whether something is retried.
package backoff

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// Base is the first wait after a failure.
	Base = 250 * time.Millisecond
	// Max is the longest wait after a failure.
	Max = 5 * time.Minute
	// spread is the share by which a wait is made longer at random, so that
	// objects that failed together do not come back together.
	spread = 0.2
)

// Options sets the bounds of a limiter; zero values mean Base and Max.
type Options struct {
	Base, Max time.Duration
}

// forgetful is how long a limiter keeps an object beyond twice its longest wait. By then either
// the object has come back or nobody asks for it any more.
const forgetful = 10 * time.Minute

// NewLimiter returns a rate limiter that doubles the wait of an object from
// Base to Max with each failure in a row and spreads it by up to a fifth. It
// forgets by itself what did not fail for long: an object that is gone never
// succeeds.
func NewLimiter(o Options) workqueue.TypedRateLimiter[reconcile.Request] { return newLimiter(o) }

func newLimiter(o Options) *limiter {
	if o.Base == 0 {
		o.Base = Base
	}
	if o.Max == 0 {
		o.Max = Max
	}
	return &limiter{options: o, now: time.Now, failed: map[reconcile.Request]failures{}}
}

type limiter struct {
	options Options
	now     func() time.Time

	mu     sync.Mutex
	failed map[reconcile.Request]failures
	swept  time.Time
}

// failures are those of one object in a row.
type failures struct {
	count int
	last  time.Time
	// wait is that after the next one, before it is spread.
	wait time.Duration
}

// When implements workqueue.TypedRateLimiter.
func (l *limiter) When(item reconcile.Request) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	f, ok := l.failed[item]
	if !ok {
		f.wait = l.options.Base
	}
	wait := min(f.wait, l.options.Max)
	l.failed[item] = failures{count: f.count + 1, last: now, wait: 2 * wait}
	return Jitter(wait)
}

// Forget implements workqueue.TypedRateLimiter.
func (l *limiter) Forget(item reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, item)
}

// NumRequeues implements workqueue.TypedRateLimiter.
func (l *limiter) NumRequeues(item reconcile.Request) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[item].count
}

// sweep forgets what did not fail for long.
func (l *limiter) sweep(now time.Time) {
	keep := 2*l.options.Max + forgetful
	if now.Sub(l.swept) < keep {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.failed, func(_ reconcile.Request, f failures) bool { return now.Sub(f.last) >= keep })
}

// Jitter makes d longer by a random share of at most a fifth. Zero stays zero.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*spread*float64(d)) //nolint:gosec // spreads load, guards nothing
}

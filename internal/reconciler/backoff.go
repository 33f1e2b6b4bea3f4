// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// MinBackoff is the first wait after a failure.
	MinBackoff = 250 * time.Millisecond
	// MaxBackoff is the longest wait after a failure.
	MaxBackoff = 5 * time.Minute
	// spread is the share by which a wait is made longer at random, so that
	// objects that failed together do not come back together.
	spread = 0.2
)

// BackoffOptions sets the bounds of a limiter; zero values mean MinBackoff and MaxBackoff.
type BackoffOptions struct {
	Base, Max time.Duration
}

// forgetful is how long a limiter keeps an object beyond twice its longest wait. By then either
// the object has come back or nobody asks for it any more.
const forgetful = 10 * time.Minute

// triesPerSecond is how often all objects of a limiter that have failed for long are
// tried. The dearest try, a Bucket's deletion, makes six requests, its Events among
// them (docs/adr/0036-noisy-neighbours.md).
const triesPerSecond = 3

// NewLimiter returns a Limiter with these bounds.
func NewLimiter(o BackoffOptions) *Limiter {
	if o.Base == 0 {
		o.Base = MinBackoff
	}
	if o.Max == 0 {
		o.Max = MaxBackoff
	}
	return &Limiter{options: o, now: time.Now, failed: map[reconcile.Request]failures{}}
}

// A Limiter is a rate limiter that doubles the wait of an object from MinBackoff to MaxBackoff, or
// to what many that fail take together, with each failure in a row and spreads it by
// up to a fifth, that of many by half. It forgets by itself what did not fail for
// long: an object that is gone never succeeds.
type Limiter struct {
	options BackoffOptions
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
func (l *Limiter) When(item reconcile.Request) time.Duration {
	return l.wait(item, l.options.Base, l.options.Max)
}

// Poll returns the time until an object is looked at again that something else than a
// failure holds up: d, spread as other waits are, and more each time if many fail.
func (l *Limiter) Poll(item reconcile.Request, d time.Duration) time.Duration {
	return l.wait(item, d, d)
}

func (l *Limiter) wait(item reconcile.Request, first, most time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	f := l.failed[item]
	wait := min(max(f.wait, first), l.longest(most))
	l.failed[item] = failures{count: f.count + 1, last: now, wait: 2 * wait}
	return apart(wait, most)
}

// Pace returns d, the time until an object that fails comes back for no reason, or a
// longer one if many fail, spread as other waits are.
func (l *Limiter) Pace(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return apart(l.longest(d), d)
}

// apart spreads a wait as usual and, if it is as long as that because many fail, so far
// that those who failed together come back one by one.
func apart(wait, most time.Duration) time.Duration {
	if wait <= most {
		return Jitter(wait)
	}
	return wait*3/5 + rand.N(wait) //nolint:gosec // spreads load, guards nothing
}

// longest returns d, or how long each object waits if all that fail share the tries.
func (l *Limiter) longest(d time.Duration) time.Duration {
	return max(d, time.Duration(len(l.failed)/triesPerSecond)*time.Second)
}

// Forget implements workqueue.TypedRateLimiter.
func (l *Limiter) Forget(item reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, item)
}

// NumRequeues implements workqueue.TypedRateLimiter.
func (l *Limiter) NumRequeues(item reconcile.Request) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[item].count
}

// sweep forgets what did not fail for long.
func (l *Limiter) sweep(now time.Time) {
	keep := 2*l.longest(l.options.Max) + forgetful
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

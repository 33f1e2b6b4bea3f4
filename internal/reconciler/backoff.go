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
	// MinBackoff is the delay after the first failure.
	MinBackoff = 250 * time.Millisecond
	// MaxBackoff is the maximum delay after a failure.
	MaxBackoff = 5 * time.Minute
	// spread is the fraction by which a delay is extended at random, so that objects that failed together are not
	// retried together.
	spread = 0.2
)

// BackoffOptions sets the bounds of a Limiter. Zero values mean MinBackoff and MaxBackoff.
type BackoffOptions struct {
	Base, Max time.Duration
}

// forgetful is how long, in addition to twice its maximum delay, a Limiter keeps the failures of an object. After that
// time the object has been retried or is no longer reconciled.
const forgetful = 10 * time.Minute

// triesPerSecond is the rate at which a Limiter retries objects that keep failing, for all of them together. The most
// expensive retry is the deletion of a Bucket: it makes six requests, including its Events
// (docs/adr/0036-noisy-neighbours.md).
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

// A Limiter is a rate limiter. It doubles the delay of an object with each consecutive failure, from MinBackoff to
// MaxBackoff. If many objects fail, it extends the maximum so that all of them share one retry rate. It adds jitter of
// up to a fifth, and more if many objects fail. It forgets objects that have not failed for a long time, because a
// deleted object never succeeds.
type Limiter struct {
	options BackoffOptions
	now     func() time.Time

	mu     sync.Mutex
	failed map[reconcile.Request]failures
	swept  time.Time
}

// failures are the consecutive failures of one object.
type failures struct {
	count int
	last  time.Time
	// wait is the delay after the next failure, without jitter.
	wait time.Duration
}

// When implements workqueue.TypedRateLimiter.
func (l *Limiter) When(item reconcile.Request) time.Duration {
	return l.wait(item, l.options.Base, l.options.Max)
}

// Poll returns the delay, with jitter, after which an object is reconciled again if something other than a failure
// blocks it. The first delay is d. If many objects fail, the delay doubles with each call, up to a limit.
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

// Pace returns the delay, with jitter, until a failing object is retried without a new event. The delay is d, or longer
// if many objects fail.
func (l *Limiter) Pace(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return apart(l.longest(d), d)
}

// apart adds jitter to a delay. If the delay is extended because many objects fail, it adds enough to spread objects
// that failed together over the whole interval.
func apart(wait, most time.Duration) time.Duration {
	if wait <= most {
		return Jitter(wait)
	}
	return wait*3/5 + rand.N(wait) //nolint:gosec // spreads load, guards nothing
}

// longest returns d, or a longer delay if all failing objects have to share the retry rate.
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

// sweep drops the objects that have not failed for a long time.
func (l *Limiter) sweep(now time.Time) {
	keep := 2*l.longest(l.options.Max) + forgetful
	if now.Sub(l.swept) < keep {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.failed, func(_ reconcile.Request, f failures) bool { return now.Sub(f.last) >= keep })
}

// Jitter returns d, extended at random by up to a fifth. Zero stays zero.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*spread*float64(d)) //nolint:gosec // spreads load, guards nothing
}

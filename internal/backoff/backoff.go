// SPDX-License-Identifier: Apache-2.0

// Package backoff holds the two clocks of a reconcile: how long to wait after
// a failure, and when to look again although nothing changed. It must not
// decide whether something is retried.
package backoff

import (
	"math/rand/v2"
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

// NewLimiter returns a rate limiter that doubles the wait of an object from
// Base to Max with each failure in a row and spreads it by up to a fifth.
func NewLimiter(o Options) workqueue.TypedRateLimiter[reconcile.Request] {
	if o.Base == 0 {
		o.Base = Base
	}
	if o.Max == 0 {
		o.Max = Max
	}
	return &limiter{TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.Base, o.Max)}
}

type limiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
}

// When implements workqueue.TypedRateLimiter.
func (l *limiter) When(item reconcile.Request) time.Duration {
	return Jitter(l.TypedRateLimiter.When(item))
}

// Jitter makes d longer by a random share of at most a fifth. Zero stays zero.
func Jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*spread*float64(d)) //nolint:gosec // spreads load, guards nothing
}

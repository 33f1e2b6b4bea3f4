// SPDX-License-Identifier: Apache-2.0

// Package attempts remembers which objects the driver failed for, so that
// neither the sidecar's own status writes nor other noise repeat a call before
// its time. A terminal failure waits for the object, the driver or the resync;
// every other one for its backoff. Nothing is stored: a sidecar that starts
// anew tries everything once.
//
// It must not make calls, and knows objects only by name and fingerprint.
package attempts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/backoff"
)

// Forever is the wait of a call that only a change of object or driver repeats.
const Forever = time.Duration(math.MaxInt64)

// Options bounds the waits.
type Options struct {
	// Backoff bounds the wait after a retryable failure.
	Backoff backoff.Options
	// Resync is the wait after a terminal failure, made longer at random by up
	// to a fifth.
	Resync time.Duration
}

// A State is what a failure is bound to: if it differs, the call may be tried
// at once.
type State struct {
	// Object is the Fingerprint of the object.
	Object string
	// Driver is the epoch of the driver's answer to DriverGetInfo.
	Driver uint64
}

// A Failure says how a call failed.
type Failure struct {
	// Terminal failures are not repeated with backoff.
	Terminal bool
	// UntilReconnect failures are not even repeated at the resync.
	UntilReconnect bool
}

// A Ledger holds the failed calls of one kind of object. Its methods may be
// called by several goroutines.
type Ledger struct {
	resync  time.Duration
	limiter workqueue.TypedRateLimiter[reconcile.Request]

	mu     sync.Mutex
	failed map[reconcile.Request]entry
}

type entry struct {
	state State
	until time.Time
	never bool
}

// NewLedger returns an empty Ledger.
func NewLedger(o Options) *Ledger {
	return &Ledger{resync: o.Resync, limiter: backoff.NewLimiter(o.Backoff), failed: map[reconcile.Request]entry{}}
}

// Wait returns how long a call for the object must still wait: zero if it may
// be made now, Forever if only a change allows it.
func (l *Ledger) Wait(req reconcile.Request, now State) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.failed[req]
	if !ok {
		return 0
	}
	if last.state != now {
		delete(l.failed, req)
		l.limiter.Forget(req)
		return 0
	}
	if last.never {
		return Forever
	}
	return max(0, time.Until(last.until))
}

// Failed notes a failure and returns how long the next call must wait.
func (l *Ledger) Failed(req reconcile.Request, state State, f Failure) time.Duration {
	wait := Forever
	switch {
	case f.UntilReconnect:
	case f.Terminal:
		if l.resync > 0 {
			wait = backoff.Jitter(l.resync)
		}
	default:
		wait = l.limiter.When(req)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := entry{state: state, never: wait == Forever}
	if !last.never {
		last.until = time.Now().Add(wait)
	}
	l.failed[req] = last
	return wait
}

// Clear forgets the failures of an object, because a call succeeded or the
// object is gone.
func (l *Ledger) Clear(req reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, req)
	l.limiter.Forget(req)
}

// Fingerprint is equal for two states of an object between which only its
// status, finalizers or bookkeeping changed: what a user or administrator can
// do to make another try worthwhile changes it. asks is what the spec asks of
// the driver, which is less than all of it, so the generation does not do; it
// must be possible to write it as JSON.
func Fingerprint(obj client.Object, asks any) string {
	seen := struct {
		UID         string            `json:"uid"`
		Asks        any               `json:"asks"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Deleting    bool              `json:"deleting"`
	}{string(obj.GetUID()), asks, obj.GetLabels(), obj.GetAnnotations(), obj.GetDeletionTimestamp() != nil}
	text, err := json.Marshal(seen)
	if err != nil {
		// Strings, maps of strings and specs always marshal.
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

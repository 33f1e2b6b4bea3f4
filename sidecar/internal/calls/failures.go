// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// Forever is the wait of a call that only a change of object or driver repeats.
const Forever = time.Duration(math.MaxInt64)

// A State is what a failure is bound to: if the object or the driver differs,
// the call may be tried at once.
type State struct {
	// Object is the Fingerprint of the object.
	Object string
	// Driver is the epoch of the driver's response to DriverGetInfo.
	Driver uint64
	// Rotation is what a user may change as often as they like: another one ends
	// the wait after a terminal failure, and no backoff.
	Rotation string
}

// Failures remembers for which objects of a kind the driver failed, so that
// neither the sidecar's own status writes nor other noise repeat a call before
// its time. A terminal failure waits for the object, the driver or the resync;
// every other one for its backoff. Nothing is stored: a sidecar that starts
// tries everything once. The methods may be called by several goroutines.
type Failures struct {
	resync  time.Duration
	limiter *backoff.Limiter

	mu     sync.Mutex
	failed map[reconcile.Request]failure
}

// A failure is the last one of an object.
type failure struct {
	state State
	// until is when the call may be repeated, unless it may never; soonest is
	// when it may for another rotation.
	until, soonest time.Time
	never          bool
}

// NewFailures returns Failures without any. A retryable one waits for its
// backoff, a terminal one for the resync, made longer at random by up to a
// fifth. Both wait longer if many objects fail.
func NewFailures(retry backoff.Options, resync time.Duration) *Failures {
	return &Failures{resync: resync, limiter: backoff.NewLimiter(retry), failed: map[reconcile.Request]failure{}}
}

// Wait returns how long a call for the object must still wait: zero if it may
// be made now, Forever if only a change allows it.
func (fs *Failures) Wait(req reconcile.Request, now State) time.Duration {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	last, ok := fs.failed[req]
	if !ok {
		return 0
	}
	switch {
	case last.state.Object != now.Object || last.state.Driver != now.Driver:
		delete(fs.failed, req)
		fs.limiter.Forget(req)
		return 0
	case last.state.Rotation != now.Rotation:
		return max(0, time.Until(last.soonest))
	case last.never:
		return Forever
	default:
		return max(0, time.Until(last.until))
	}
}

// Failed reports whether the last call for the object failed, so that the next one
// is another try.
func (fs *Failures) Failed(req reconcile.Request) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	_, failed := fs.failed[req]
	return failed
}

// Poll returns the time until an object is looked at again that something else
// than a call holds up: d, or a longer one if many objects fail.
func (fs *Failures) Poll(req reconcile.Request, d time.Duration) time.Duration {
	return fs.limiter.Poll(req, d)
}

// Note notes a failure and returns how long the next call must wait.
func (fs *Failures) Note(req reconcile.Request, state State, f *driver.Failure) time.Duration {
	again := fs.limiter.When(req)
	wait := Forever
	switch {
	case f.UntilReconnect():
	case f.Terminal():
		if fs.resync > 0 {
			wait = fs.limiter.Pace(fs.resync)
		}
	default:
		wait = again
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	now := time.Now()
	last := failure{state: state, soonest: now.Add(again), never: wait == Forever}
	if !last.never {
		last.until = now.Add(wait)
	}
	fs.failed[req] = last
	return wait
}

// Forget forgets the failures of an object, because a call succeeded or the
// object is gone.
func (fs *Failures) Forget(req reconcile.Request) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.failed, req)
	fs.limiter.Forget(req)
}

// Fingerprint returns a digest of what makes another try worthwhile when it
// changes, which status, finalizers, labels and annotations are no part of: the
// last two are no concern of the driver, and a user may change them every second.
// asks is what the spec asks of the driver, which is less than all of it, so the
// generation does not do; it must be possible to write it as JSON.
func Fingerprint(obj client.Object, asks any) string {
	seen := struct {
		UID      string `json:"uid"`
		Asks     any    `json:"asks"`
		Deleting bool   `json:"deleting"`
	}{string(obj.GetUID()), asks, obj.GetDeletionTimestamp() != nil}
	return digest(seen)
}

func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// Strings, maps of strings and specs always marshal.
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

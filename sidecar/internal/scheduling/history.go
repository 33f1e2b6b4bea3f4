// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// Forever is the wait of a call that only a change of object or driver repeats.
const Forever = time.Duration(math.MaxInt64)

// A State is what a failure depends on: if the object or the driver differs, the call may be tried at once.
type State struct {
	// Object is the Fingerprint of the object.
	Object string
	// Driver is the epoch of the driver's response to DriverGetInfo.
	Driver uint64
	// Rotation is the rotation that the user asks for. Users can change it as often as they like: a new one ends the wait
	// after a terminal failure, but no backoff.
	Rotation string
}

// History remembers the calls for each object of a kind: the last failure, so that neither the sidecar's own status writes
// nor other events repeat the call too early, and the ID that the driver returned, which the cache shows only some time
// after it was stored. A terminal failure waits for the object, the driver or the resync; every other failure for its
// backoff. A restart loses it: every call is then tried once. The methods may be called by several goroutines.
type History struct {
	resync  time.Duration
	limiter *reconciler.Limiter

	mu     sync.Mutex
	failed map[reconcile.Request]failure
	ids    map[reconcile.Request]string
	owners map[string]reconcile.Request
}

// A failure is the last one of an object.
type failure struct {
	state State
	// until is when the call may be repeated, zero for never; soonest is when it may be for another rotation.
	until, soonest time.Time
}

// NewHistory returns an empty History. A retryable failure waits for its backoff, a terminal one for the resync, extended
// at random by up to a fifth. Both wait longer if many objects fail.
func NewHistory(retry reconciler.BackoffOptions, resync time.Duration) *History {
	return &History{
		resync: resync, limiter: reconciler.NewLimiter(retry),
		failed: map[reconcile.Request]failure{}, ids: map[reconcile.Request]string{}, owners: map[string]reconcile.Request{},
	}
}

// Wait returns how long a call for the object must still wait: zero if it may be made now, Forever if only a change permits
// it.
func (h *History) Wait(req reconcile.Request, now State) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.failed[req]
	if !ok {
		return 0
	}
	switch {
	case last.state.Object != now.Object || last.state.Driver != now.Driver:
		delete(h.failed, req)
		h.limiter.Forget(req)
		return 0
	case last.state.Rotation != now.Rotation:
		return max(0, time.Until(last.soonest))
	case last.until.IsZero():
		return Forever
	default:
		return max(0, time.Until(last.until))
	}
}

// Failed reports whether the last call for the object failed, so that the next one is a retry.
func (h *History) Failed(req reconcile.Request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, failed := h.failed[req]
	return failed
}

// Poll returns the time until an object is checked again that waits for something else than a call: d, or longer if many
// objects fail.
func (h *History) Poll(req reconcile.Request, d time.Duration) time.Duration {
	return h.limiter.Poll(req, d)
}

// NoteFailure stores a failure and returns how long the next call must wait.
func (h *History) NoteFailure(req reconcile.Request, state State, f *driver.Failure) time.Duration {
	again := h.limiter.When(req)
	wait := Forever
	switch {
	case f.UntilReconnect():
	case f.Terminal():
		if h.resync > 0 {
			wait = h.limiter.Pace(h.resync)
		}
	default:
		wait = again
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	last := failure{state: state, soonest: now.Add(again)}
	if wait != Forever {
		last.until = now.Add(wait)
	}
	h.failed[req] = last
	return wait
}

// Succeeded forgets the last failure of an object.
func (h *History) Succeeded(req reconcile.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failed, req)
	h.limiter.Forget(req)
}

// ReserveID records the ID that the driver returned for an object, in place of an earlier one. It returns false, and changes
// nothing, if the driver returned the ID for another object.
func (h *History) ReserveID(req reconcile.Request, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if owner, given := h.owners[id]; given {
		return owner == req
	}
	delete(h.owners, h.ids[req])
	h.owners[id], h.ids[req] = req, id
	return true
}

// Forget drops an object that does not exist any more.
func (h *History) Forget(req reconcile.Request) {
	h.Succeeded(req)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.owners, h.ids[req])
	delete(h.ids, req)
}

// Fingerprint returns a digest of what makes another try worthwhile when it changes: whether the object is another one or
// being deleted, and asks, the part of it that the driver is asked about. It must be possible to encode asks as JSON.
func Fingerprint(obj client.Object, asks any) string {
	return Digest(struct {
		UID      string `json:"uid"`
		Asks     any    `json:"asks"`
		Deleting bool   `json:"deleting"`
	}{string(obj.GetUID()), asks, obj.GetDeletionTimestamp() != nil})
}

// Digest returns a digest of v, which it encodes as JSON.
func Digest(v any) string {
	text, err := json.Marshal(v) // sorts the keys of maps
	if err != nil {
		return err.Error() // strings, bytes, maps of them and specs always marshal
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Provisioned sets the conditions of an object after the call that made or verified what it stands for.
func Provisioned(list *[]metav1.Condition, message string, generation int64) {
	conditions.Set(list, conditions.Change{
		Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned, Message: message, Generation: generation,
	})
	conditions.Set(list, succeeded(cosiapi.ConditionProvisionFailed, "The last call to the driver succeeded.", generation))
}

// ProvisionFailed sets the conditions after a failed call that makes or verifies what an object stands for. A provisioned
// object stays provisioned.
func ProvisionFailed(list *[]metav1.Condition, f *driver.Failure, generation int64) {
	change := failed(cosiapi.ConditionProvisionFailed, f, generation)
	conditions.Set(list, change)
	if conditions.Is(*list, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return
	}
	change.Type, change.Status = cosiapi.ConditionProvisioned, metav1.ConditionUnknown
	if f.Terminal() {
		change.Status = metav1.ConditionFalse
	}
	conditions.Set(list, change)
}

// DeprovisionFailed sets the condition after a failed call that removes what an object stands for.
func DeprovisionFailed(list *[]metav1.Condition, f *driver.Failure, generation int64) {
	conditions.Set(list, failed(cosiapi.ConditionDeprovisionFailed, f, generation))
}

// Deprovisioned takes back the condition of a deletion that had to wait or failed.
func Deprovisioned(list *[]metav1.Condition, message string, generation int64) {
	if meta.FindStatusCondition(*list, cosiapi.ConditionDeprovisionFailed) != nil {
		conditions.Set(list, succeeded(cosiapi.ConditionDeprovisionFailed, message, generation))
	}
}

func succeeded(conditionType, message string, generation int64) conditions.Change {
	return conditions.Change{
		Type: conditionType, Status: metav1.ConditionFalse, Reason: conditions.RPCSucceeded, Message: message, Generation: generation,
	}
}

func failed(conditionType string, f *driver.Failure, generation int64) conditions.Change {
	return conditions.Change{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: reason(f), Message: f.Message(), Generation: generation,
	}
}

func reason(f *driver.Failure) conditions.Reason {
	switch {
	case f.InvalidResponse():
		return conditions.DriverResponseInvalid
	case f.UntilReconnect():
		return conditions.DriverIncompatible
	case f.Terminal():
		return conditions.Terminal
	default:
		return conditions.Retrying
	}
}

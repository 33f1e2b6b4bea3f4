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

// Forever is the wait of a call that is repeated only after a change of the object or the driver.
const Forever = time.Duration(math.MaxInt64)

// A State is the input of a call. If the object or the driver has changed since a failure, the call may be retried
// immediately.
type State struct {
	// Object is the Fingerprint of the object.
	Object string
	// Driver is the epoch of the driver's response to DriverGetInfo.
	Driver uint64
	// Rotation is the rotation that the user requests. Users can change it at any rate, so a new value ends the wait
	// after a terminal failure, but not the backoff.
	Rotation string
}

// History remembers the calls for each object of a kind. It stores the last failure, so that the sidecar's own status
// writes and other events do not repeat the call too early. It also stores the ID that the driver returned, because the
// cache contains a written ID only after some time. After a terminal failure, a call waits for a change of the object
// or the driver, or for the resync. After any other failure, it waits for its backoff. A restart loses the history, and
// every call is then tried once. The methods are safe for concurrent use.
type History struct {
	resync  time.Duration
	limiter *reconciler.Limiter

	mu     sync.Mutex
	failed map[reconcile.Request]failure
	ids    map[reconcile.Request]string
	owners map[string]reconcile.Request
}

// A failure is the last failure of an object.
type failure struct {
	state State
	// until is when the call may be repeated, zero for never. soonest is when it may be repeated for another rotation.
	until, soonest time.Time
}

// NewHistory returns an empty History. After a retryable failure, a call waits for its backoff. After a terminal
// failure, it waits for the resync period, extended at random by up to a fifth. Both waits are longer if many objects
// fail.
func NewHistory(retry reconciler.BackoffOptions, resync time.Duration) *History {
	return &History{
		resync: resync, limiter: reconciler.NewLimiter(retry),
		failed: map[reconcile.Request]failure{}, ids: map[reconcile.Request]string{}, owners: map[string]reconcile.Request{},
	}
}

// Wait returns how long a call for the object must still wait. Zero means that the call may be made now. Forever means
// that only a change permits it.
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

// Poll returns the time until the next check of an object that does not wait for a call. It returns d, or a longer time
// if many objects fail.
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

// Succeeded clears the last failure of an object.
func (h *History) Succeeded(req reconcile.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failed, req)
	h.limiter.Forget(req)
}

// ReserveID records the ID that the driver returned for an object and replaces an earlier one. If the driver returned
// the same ID for another object, ReserveID returns false and changes nothing.
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

// Forget drops an object that no longer exists.
func (h *History) Forget(req reconcile.Request) {
	h.Succeeded(req)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.owners, h.ids[req])
	delete(h.ids, req)
}

// Fingerprint returns a digest of the object's identity, of whether it is being deleted, and of asks, the part of the
// object that is sent to the driver. A retry is useful only if the digest changes. asks must be encodable as JSON.
func Fingerprint(obj client.Object, asks any) string {
	return Digest(struct {
		UID      string `json:"uid"`
		Asks     any    `json:"asks"`
		Deleting bool   `json:"deleting"`
	}{string(obj.GetUID()), asks, obj.GetDeletionTimestamp() != nil})
}

// Digest returns a digest of v's JSON encoding.
func Digest(v any) string {
	text, err := json.Marshal(v) // sorts the keys of maps
	if err != nil {
		return err.Error() // not reached: strings, bytes, maps of them and specs can always be marshalled
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Provisioned sets the conditions of an object after the call that created or verified its bucket or account.
func Provisioned(list *[]metav1.Condition, message string, generation int64) {
	conditions.Set(list, conditions.Change{
		Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned, Message: message, Generation: generation,
	})
	conditions.Set(list, succeeded(cosiapi.ConditionProvisionFailed, "The last call to the driver succeeded.", generation))
}

// ProvisionFailed sets the conditions after a failed call that creates or verifies the bucket or account of an object.
// A provisioned object stays provisioned.
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

// DeprovisionFailed sets the condition after a failed call that deletes the bucket or account of an object.
func DeprovisionFailed(list *[]metav1.Condition, f *driver.Failure, generation int64) {
	conditions.Set(list, failed(cosiapi.ConditionDeprovisionFailed, f, generation))
}

// Deprovisioned clears the condition of a deletion that waited or failed.
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

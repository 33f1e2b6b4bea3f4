// SPDX-License-Identifier: Apache-2.0

package store

import (
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// LeaseState is the state of a lease, named as in the service's API.
type LeaseState string

// The states of a lease.
const (
	Available LeaseState = "available"
	Leased    LeaseState = "leased"
	Expired   LeaseState = "expired"
	Breaking  LeaseState = "breaking"
	Broken    LeaseState = "broken"
)

// Infinite is the duration of a lease that does not expire.
const Infinite = -1 * time.Second

// Lease is the lease of a container or a blob. The zero value is an available lease.
type Lease struct {
	ID string `json:"id,omitempty"`
	// Duration is the duration with which the lease was acquired. A lease with Infinite does not expire.
	Duration time.Duration `json:"duration,omitempty"`
	// Ends is the time when a finite lease expires.
	Ends time.Time `json:"ends,omitzero"`
	// Breaks is the time when the break of a lease takes effect, or zero if the lease is not broken.
	Breaks time.Time `json:"breaks,omitzero"`
}

// State returns the state of the lease at the given time.
func (l Lease) State(now time.Time) LeaseState {
	switch {
	case l.ID == "":
		return Available
	case !l.Breaks.IsZero() && now.Before(l.Breaks):
		return Breaking
	case !l.Breaks.IsZero():
		return Broken
	case l.Duration != Infinite && !now.Before(l.Ends):
		return Expired
	}
	return Leased
}

// Locked reports whether changes of the resource require the lease's ID.
func (l Lease) Locked(now time.Time) bool {
	s := l.State(now)
	return s == Leased || s == Breaking
}

func leaseConflict(code, message string) *azerr.Error {
	return azerr.New(http.StatusConflict, code, message)
}

// Acquire returns an acquired lease. If the lease already has the same ID, Acquire renews it.
func (l Lease) Acquire(id string, duration time.Duration, now time.Time) (Lease, error) {
	switch {
	case l.Locked(now) && l.ID != id:
		return l, leaseConflict("LeaseAlreadyPresent", "There is already a lease present.")
	case l.State(now) == Breaking:
		return l, leaseConflict("LeaseIsBreakingAndCannotBeAcquired", "The lease ID matched, but the lease is currently in breaking state and can't be acquired until it's broken.")
	}
	return Lease{ID: id, Duration: duration, Ends: now.Add(duration)}, nil
}

// Renew extends the lease by its duration. An expired lease can be renewed unless the protected resource has been
// changed, in which case the caller deletes the lease.
func (l Lease) Renew(id string, now time.Time) (Lease, error) {
	switch state := l.State(now); {
	case l.ID != id || state == Available:
		return l, leaseMismatch
	case state == Breaking || state == Broken:
		return l, leaseConflict("LeaseIsBrokenAndCannotBeRenewed", "The lease ID matched, but the lease has been broken explicitly and can't be renewed.")
	}
	l.Ends = now.Add(l.Duration)
	return l, nil
}

var leaseMismatch = leaseConflict("LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the resource.")

// Change replaces the ID of the lease.
func (l Lease) Change(id, proposed string, now time.Time) (Lease, error) {
	switch breaking := l.State(now) == Breaking; {
	case !l.Locked(now):
		return l, leaseConflict("LeaseNotPresentWithLeaseOperation", "There is currently no lease on the resource.")
	case l.ID != id && (breaking || l.ID != proposed):
		return l, leaseMismatch
	case breaking:
		return l, leaseConflict("LeaseIsBreakingAndCannotBeChanged", "The lease ID matched, but the lease is currently in breaking state and can't be changed.")
	}
	l.ID = proposed
	return l, nil
}

// Release ends the lease.
func (l Lease) Release(id string, now time.Time) (Lease, error) {
	if l.State(now) == Available || l.ID != id {
		return l, leaseMismatch
	}
	return Lease{}, nil
}

// Break ends the lease after a period, but not later than the lease would expire. If period is nil, an infinite lease
// ends immediately and a finite lease when it expires. Break returns the remaining time in seconds, rounded.
func (l Lease) Break(period *time.Duration, now time.Time) (Lease, int, error) {
	state := l.State(now)
	if state == Available {
		return l, 0, leaseConflict("LeaseNotPresentWithLeaseOperation", "There is currently no lease on the resource.")
	}
	if state == Broken || state == Expired {
		l.Breaks = now
		return l, 0, nil
	}
	end := now
	if l.Duration != Infinite {
		end = l.Ends
	}
	if period != nil && (l.Duration == Infinite || now.Add(*period).Before(end)) {
		end = now.Add(*period)
	}
	if state == Breaking && (period == nil || l.Breaks.Before(end)) {
		end = l.Breaks
	}
	l.Breaks = end
	return l, int(end.Sub(now).Round(time.Second) / time.Second), nil
}

// Guard returns an error if a call must not access the resource with the lease ID shown, which is "" if the call has
// none. what is the resource type in error codes: Blob or Container. If required is true, calls must have the ID
// while the resource is leased.
func (l Lease) Guard(shown, what string, required bool, now time.Time) error {
	switch {
	case shown == "" && (!required || !l.Locked(now)):
		return nil
	case shown == "":
		return azerr.New(http.StatusPreconditionFailed, "LeaseIdMissing", "There is currently a lease on the resource and no lease ID was specified in the request.")
	case !l.Locked(now) && l.ID == shown:
		return azerr.New(http.StatusPreconditionFailed, "LeaseLost", "A lease ID was specified, but the lease for the resource has expired.")
	case !l.Locked(now):
		return azerr.New(http.StatusPreconditionFailed, "LeaseNotPresentWith"+what+"Operation", "There is currently no lease on the resource.")
	case l.ID != shown:
		return azerr.New(http.StatusPreconditionFailed, "LeaseIdMismatchWith"+what+"Operation", "The lease ID specified did not match the lease ID for the resource.")
	}
	return nil
}

// AfterWrite returns the lease after a successful write. An expired or broken lease becomes available, so it can no
// longer be renewed.
func (l Lease) AfterWrite(now time.Time) Lease {
	if s := l.State(now); s == Expired || s == Broken {
		return Lease{}
	}
	return l
}

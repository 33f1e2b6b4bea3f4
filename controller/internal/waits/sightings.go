// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// forgetful is how long a Lease that nobody looks at is remembered.
const forgetful = time.Hour

// Sightings remembers the Leases of sidecars as they were seen, and since when,
// so that their age is told by our clock alone: a Lease holds the time of the node
// that its holder runs on, and nothing says how far the two differ. It is how
// leader election judges a Lease, too. The zero value is ready to use, by several
// goroutines.
type Sightings struct {
	mu       sync.Mutex
	byDriver map[string]sighting
}

// A sighting is how a Lease was seen last.
type sighting struct {
	holder  string
	renewed metav1.MicroTime
	// since is when it was seen so for the first time, and at for the last.
	since, at time.Time
}

// look reports whether somebody holds the Lease of a driver. If that is not known
// yet, since nobody was seen to renew it, held is false and again is the time until
// the next look; if nobody holds it, again is 0.
func (s *Sightings) look(driver string, lease *coordinationv1.Lease, now time.Time) (held bool, again time.Duration) {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" || lease.Spec.RenewTime == nil {
		return false, 0 // given up, or never held
	}
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.byDriver[driver]
	seen := sighting{holder: holder, renewed: *lease.Spec.RenewTime, since: now, at: now}
	same := known && before.holder == holder && before.renewed.Equal(&seen.renewed)
	if same {
		seen.since = before.since
	}
	s.note(driver, seen)
	switch {
	case same:
		return false, max(0, seen.since.Add(lasts).Sub(now))
	case known && now.Sub(before.at) <= 2*lasts:
		return true, 0 // it was renewed since
	default:
		return false, lasts
	}
}

// note remembers a sighting, and forgets what nobody looked at for long.
func (s *Sightings) note(driver string, seen sighting) {
	if s.byDriver == nil {
		s.byDriver = map[string]sighting{}
	}
	s.byDriver[driver] = seen
	maps.DeleteFunc(s.byDriver, func(_ string, old sighting) bool { return seen.at.Sub(old.at) >= forgetful })
}

// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// TestBreakRounds breaks a lease again while it is breaking. Azurite's tests expect zero in the last half second.
func TestBreakRounds(t *testing.T) {
	t.Parallel()
	now, period := time.Now(), 3*time.Second
	lease, err := store.Lease{}.Acquire("id", 15*time.Second, now)
	wantNoError(t, err)
	for after, want := range map[time.Duration]int{0: 3, 2400 * time.Millisecond: 1, 2600 * time.Millisecond: 0} {
		broken, _, err := lease.Break(&period, now)
		wantNoError(t, err)
		broken, left, err := broken.Break(&period, now.Add(after))
		wantNoError(t, err)
		if state := broken.State(now.Add(after)); left != want || state != store.Breaking {
			t.Errorf("after %s: %d seconds left, %s; want %d", after, left, state, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package keylock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func TestLocks(t *testing.T) {
	t.Parallel()
	var locks Locks
	const holders = 8
	var group sync.WaitGroup
	counts := make([]int, 3)
	for i := range holders * len(counts) {
		group.Go(func() {
			n := i % len(counts)
			unlock, err := locks.Lock(t.Context(), fmt.Sprint(n))
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			counts[n]++ // the race detector objects if two hold one lock
		})
	}
	group.Wait()
	for n, count := range counts {
		if count != holders {
			t.Errorf("lock %d was held %d times, want %d", n, count, holders)
		}
	}
	if left := len(locks.held); left != 0 {
		t.Errorf("%d locks remain although no call holds them", left)
	}
}

func TestWhoGivesUpLeavesNothing(t *testing.T) {
	t.Parallel()
	var locks Locks
	unlock, err := locks.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.Lock(over, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("want the end of the context, got %v", err)
	}
	unlock()
	if left := len(locks.held); left != 0 {
		t.Errorf("%d locks remain although no call holds them", left)
	}
}

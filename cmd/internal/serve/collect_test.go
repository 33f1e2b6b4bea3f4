// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGarbageMayBeAsMuchAsIsSpare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		used uint64
		want int
	}{
		"before anything was collected": {0, 400},
		"a small cluster":               {4 << 20, 400},
		"as much as is spare":           {32 << 20, 66},
		"ten thousand buckets":          {80 << 20, 10},
		"a hundred thousand":            {800 << 20, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := garbage(32<<20, tc.used); got != tc.want {
				t.Errorf("percentage of %d bytes: want %d, got %d", tc.used, tc.want, got)
			}
		})
	}
}

//nolint:paralleltest // the percentage is the process's
func TestEachCollectionSetsThePercentage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { cancel(); debug.SetGCPercent(before) })
	collect(ctx, 1<<40)
	for range 2 {
		debug.SetGCPercent(100)
		for debug.SetGCPercent(100) == 100 {
			runtime.GC() // what it starts goes on beside this
			runtime.Gosched()
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// How much of each matrix an ordinary run tries, for each flow. COOPER_SOAK=1
// tries all of it.
const (
	sampledCrashes = 6
	sampledFaults  = 8
	sampledKills   = 2
	sampledLags    = 2
)

// soak reports whether the matrices are to be run completely.
func soak() bool { return os.Getenv("COOPER_SOAK") == "1" }

// seed is COOPER_LIFECYCLE_SEED, or another one in each run.
func seed() uint64 {
	return uint64(environment("COOPER_LIFECYCLE_SEED", int(time.Now().UnixNano()%1e9)))
}

// sample draws most elements at random and keeps their order. The seed of the
// draw is printed; COOPER_LIFECYCLE_SEED repeats one.
func sample[T any](t *testing.T, all []T, most int) []T {
	t.Helper()
	if soak() || len(all) <= most {
		t.Logf("all of %d", len(all))
		return all
	}
	from := seed()
	t.Logf("%d of %d: COOPER_LIFECYCLE_SEED=%d repeats them, COOPER_SOAK=1 takes all", most, len(all), from)
	drawn := rand.New(rand.NewPCG(from, 1)).Perm(len(all))[:most]
	slices.Sort(drawn)
	chosen := make([]T, 0, most)
	for _, i := range drawn {
		chosen = append(chosen, all[i])
	}
	return chosen
}

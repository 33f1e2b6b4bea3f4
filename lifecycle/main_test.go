// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
	"github.com/cooper-cosi/cooper/testenv"
)

// patience is the timeout of a test's waits. It is long because it only delays failures; hack/mutations,
// which expects failures, shortens it.
func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("COOPER_LIFECYCLE_PATIENCE")); err == nil {
		return d
	}
	return 3 * time.Minute
}

// worldsAtOnce is how many worlds share the API server unless -parallel is set. Worlds spend most of their
// time waiting.
const worldsAtOnce = "8"

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each process has its own logger
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(worldsAtOnce) // always a valid number
	}
	testenv.Main(m)
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir) // a temporary directory
	}
}

func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	tests, err := cases.Tests(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases.All() {
		if len(tests[c.ID]) == 0 {
			t.Errorf("no test covers %s: %s", c.ID, c.Sentence)
		}
	}
}

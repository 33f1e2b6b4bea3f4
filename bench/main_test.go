// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// asBench makes the test binary act as the bench.
const asBench = "COOPER_TEST_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
		return
	}
	m.Run()
}

// TestBench runs the whole bench once with a minimal workload, and verifies its permissions and its output.
// It does not judge the figures.
func TestBench(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it measures what other packages test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bench := exec.CommandContext(t.Context(), self, "-bursts=3", "-singles=2", "-traces")
	bench.Cancel = func() error { return bench.Process.Signal(os.Interrupt) } // so that it stops its child processes
	bench.Dir, bench.Env = "..", append(os.Environ(), asBench+"=1")
	printed, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for _, want := range []string{"| pairs of claim and access | 2 single pairs | a burst of 3 |", "create: claim p50 / its floor", "delete: object writes per pair"} {
		if !strings.Contains(string(printed), want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBench lets the whole bench run once, with next to nothing to do: it must
// have the rights that it needs, and print what it is for. Figures are not judged.
func TestBench(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "bench")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	bench := exec.CommandContext(t.Context(), program, "-bursts=3", "-singles=2")
	bench.Cancel = func() error { return bench.Process.Signal(os.Interrupt) } // so that it ends what it started
	bench.Dir = ".."
	printed, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for _, want := range []string{"| what | pairs/s | claim p50 |", "times its floor", "conflicts"} {
		if !strings.Contains(string(printed), want) {
			t.Errorf("it does not print %q:\n%s", want, printed)
		}
	}
}

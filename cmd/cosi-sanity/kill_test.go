// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestKilledRunIsSwept kills the command while the store holds objects of its run, and sweeps by the journal.
// The sweep must remove all objects of the run and nothing else.
func TestKilledRunIsSwept(t *testing.T) {
	t.Parallel()
	config, journal := configured(t), filepath.Join(t.TempDir(), "journal")
	store := memdriver.NewStore(storeOf(config))
	if err := (memdriver.Outside{Store: store}).MakeBucket(t.Context(), "somebody-elses"); err != nil {
		t.Fatal(err)
	}
	// A run may delete its objects between the look at the store and the kill.
	for left := 0; left < 2; left = killRun(t, store, config, journal) {
		_ = os.Remove(journal)
	}
	code, out, problems := invoke(t, "sweep", "--config", config, "--journal", journal)
	if code != exitConformant || !strings.Contains(out, "no objects of the run are left") {
		t.Errorf("exit code %d\n%s\n%s", code, out, problems)
	}
	left, err := store.Inventory()
	if err != nil || len(left) != 1 || left[0].Name != "somebody-elses" {
		t.Errorf("want only the other owner's bucket left, got %v, %v", left, err)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal still exists")
	}
}

// killRun kills a run while the store holds an account of it, and returns the number of objects that are left.
func killRun(t *testing.T, store *memdriver.Store, config, journal string) int {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	command := exec.CommandContext(t.Context(), program, "--config", config, "--journal", journal, "--focus", "^(BKT|ACC|LIF)-")
	command.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+processtest.ShortTempDir(t)) // a killed process leaves files
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "an account of the run", func() bool {
		left, err := store.Inventory()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(names(left), " "), "account cosi-sanity-")
	})
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Fatalf("the run ended before it was killed:\n%s", &output)
	}
	if runtime.GOOS == "linux" {
		until(t, "the end of the killed run's driver", func() bool { return !driverRuns(t, storeOf(config)) })
	}
	left, err := store.Inventory()
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

// storeOf returns the store of a driver's configuration.
func storeOf(config string) string { return filepath.Join(filepath.Dir(config), "store.json") }

func names(resources []sanity.Resource) []string {
	found := make([]string, len(resources))
	for i, r := range resources {
		found[i] = r.Kind + " " + r.Name
	}
	return found
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker, limit := time.NewTicker(5*time.Millisecond), time.After(3*time.Minute)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// driverRuns reports whether a driver process uses the store.
func driverRuns(t *testing.T, store string) bool {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		// A process may exit in between, and those of other users cannot be read.
		environment, err := os.ReadFile(path)
		if err == nil && bytes.Contains(environment, []byte(asDriver+"="+store)) {
			return true
		}
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"os"
	"slices"
	"testing"
)

// ShortTempDir creates a directory with a path that is short enough for sockets: their paths are limited to 107 bytes,
// and t.TempDir includes the name of the test. The directory is removed at the end of the test, after the cleanups
// that were registered later.
func ShortTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cosi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// RequireEmptyDir fails the test if a directory, such as the temporary directory of a process that ended, contains
// anything except the exceptions.
func RequireEmptyDir(t testing.TB, dir string, exceptions ...string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if !slices.Contains(exceptions, entry.Name()) {
			t.Errorf("left behind: %s", entry.Name())
		}
	}
}

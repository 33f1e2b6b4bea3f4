// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"os"
	"slices"
	"testing"
)

// ShortTempDir makes a directory whose path leaves room for the names of sockets: those may have 107 bytes, and t.TempDir has
// the name of the test in it. It is removed when the test ends, after the cleanups that were registered later.
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

// RequireEmptyDir fails the test if a directory, such as the temporary one of a process that ended, holds anything but the
// exceptions.
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

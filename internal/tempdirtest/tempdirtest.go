// SPDX-License-Identifier: Apache-2.0

// Package tempdirtest makes temporary directories for tests where t.TempDir does not do. It must not know what is put
// there.
package tempdirtest

import (
	"os"
	"slices"
	"testing"
)

// Short makes a directory whose path leaves room for the names of sockets: those may have 107 bytes, and t.TempDir has
// the name of the test in it. It is removed when the test ends, after the cleanups that were registered later.
func Short(t testing.TB) string {
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

// Empty fails the test if a directory, such as the temporary one of a process that ended, holds anything but the
// exceptions.
func Empty(t testing.TB, dir string, exceptions ...string) {
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

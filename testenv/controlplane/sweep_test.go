// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"os"
	"testing"
)

// TestSweepPutsNothingIntoADirectoryThatIsBeingRemoved verifies that a sweep creates no file in a directory
// that its owner is removing: the removal would fail.
func TestSweepPutsNothingIntoADirectoryThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := takeOver(layout{dir: dir, temporary: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want ErrNotExist, got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

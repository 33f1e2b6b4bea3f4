// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// TestTheProcessStaysWhereItIs enters another namespace from many goroutines. /proc/self shows the namespaces
// of the main thread, which must not change.
func TestTheProcessStaysWhereItIs(t *testing.T) {
	t.Parallel()
	Need(t, possible())
	other := exec.CommandContext(t.Context(), "sleep", "infinity")
	other.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait() // killed, so always an error
	})
	before := namespaceOf(t)
	var all errgroup.Group
	for range 200 {
		all.Go(func() error { return inside(other.Process.Pid, func() error { return nil }) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if now := namespaceOf(t); now != before {
		t.Errorf("the process is in %s, and was in %s", now, before)
	}
}

func namespaceOf(t *testing.T) string {
	t.Helper()
	name, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

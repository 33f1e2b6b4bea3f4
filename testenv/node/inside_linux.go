// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// possible returns why this process may not make namespaces or cgroups, as in most containers, or nil.
func possible() error {
	cmd := exec.Command("true") //nolint:noctx // it ends at once
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("a node needs namespaces of its own: %w", err)
	}
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} { // of version 1, of version 2
		if _, err := os.Stat(root + "/cgroup.procs"); err == nil {
			if err := unix.Access(root, unix.W_OK); err != nil {
				return fmt.Errorf("a node needs a cgroup of its own in %s: %w", root, err)
			}
			return nil
		}
	}
	return errors.New("a node needs cgroups below /sys/fs/cgroup")
}

// inside calls f in the namespaces of the process pid: what f starts is there, while what it opens is this process's.
func inside(pid int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread never ends, and is what others see of the process: while it is held, f gets another one.
			defer runtime.UnlockOSThread()
			done <- inside(pid, f)
			return
		}
		// Never unlocked: the thread, which is in other namespaces than the rest of the process, ends with f.
		err := enter(pid)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// enter moves the thread into the namespaces.
func enter(pid int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the directory of the process: %w", err)
	}
	for _, namespace := range []struct {
		name string
		kind int
	}{
		// That of the mounts is last: it has another /proc.
		{"net", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC},
		{"uts", unix.CLONE_NEWUTS},
		{"pid", unix.CLONE_NEWPID},
		{"mnt", unix.CLONE_NEWNS},
	} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, namespace.name))
		if err != nil {
			return fmt.Errorf("namespace of the node: %w", err)
		}
		err = unix.Setns(int(file.Fd()), namespace.kind)
		_ = file.Close() // only read
		if err != nil {
			return fmt.Errorf("namespace %s of the node: %w", namespace.name, err)
		}
	}
	return nil
}

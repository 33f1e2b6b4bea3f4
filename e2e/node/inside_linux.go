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

// possible returns the reason why this process cannot create namespaces or cgroups, as in most containers, or
// nil.
func possible() error {
	cmd := exec.Command("true") //nolint:noctx // it exits at once
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("a node needs separate namespaces: %w", err)
	}
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} { // cgroup v1, cgroup v2
		if _, err := os.Stat(root + "/cgroup.procs"); err == nil {
			if err := unix.Access(root, unix.W_OK); err != nil {
				return fmt.Errorf("a node needs a separate cgroup in %s: %w", root, err)
			}
			return nil
		}
	}
	return errors.New("a node needs cgroups below /sys/fs/cgroup")
}

// inside calls f in the namespaces of the process pid. Processes that f starts run there; files that f opens
// are those of this process's mount namespace.
func inside(pid int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The namespaces of the main thread are what /proc shows for the process, and the main thread is
			// never destroyed. Locking it makes f run on another thread.
			defer runtime.UnlockOSThread()
			done <- inside(pid, f)
			return
		}
		// Never unlocked: the thread is in other namespaces than the rest of the process, and must end with
		// f.
		err := enter(pid)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// enter moves the current thread into the namespaces.
func enter(pid int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare the working directory: %w", err)
	}
	for _, namespace := range []struct {
		name string
		kind int
	}{
		// The mount namespace is last, because it has another /proc.
		{"net", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC},
		{"uts", unix.CLONE_NEWUTS},
		{"pid", unix.CLONE_NEWPID},
		{"mnt", unix.CLONE_NEWNS},
	} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, namespace.name))
		if err != nil {
			return fmt.Errorf("open a namespace of the node: %w", err)
		}
		err = unix.Setns(int(file.Fd()), namespace.kind)
		_ = file.Close() // opened for reading
		if err != nil {
			return fmt.Errorf("enter the namespace %s of the node: %w", namespace.name, err)
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

const orphanTimeout = 10 * time.Second

// endProcesses kills the components whose executable path is in the layout's directory, and returns when they
// have exited. Such a path is unique, so no unrelated process with a reused process ID is killed. The caller
// holds the lease.
//
// Killing them is safe for the data: the operating system has everything that etcd wrote.
func endProcesses(l layout) error {
	deadline := time.After(orphanTimeout)
	for {
		running, err := processesOf(l)
		if err != nil {
			return fmt.Errorf("cannot find processes of a previous run on %s: %w", l.dir, err)
		}
		if len(running) == 0 {
			return nil
		}
		for _, pid := range running {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("cannot stop process %d of a previous run on %s: %w", pid, l.dir, err)
			}
		}
		select {
		case <-deadline:
			return fmt.Errorf("processes %v of a previous run on %s do not stop; kill them manually", running, l.dir)
		case <-time.After(waitInterval):
		}
	}
}

// processesOf returns the IDs of the processes whose program is one of the layout's.
func processesOf(l layout) ([]int, error) {
	programs := []string{l.program(binaries.APIServer), l.program(binaries.Etcd), l.program(binaries.ControllerManager), l.program(scheduler)}
	var found []int
	err := eachProcess(func(pid int, isProgram func(path string) bool) {
		if slices.ContainsFunc(programs, isProgram) {
			found = append(found, pid)
		}
	})
	return found, err
}

// sweepTemporary removes the temporary directories of killed processes, and ends their components. It ignores
// errors; the next start tries again.
func sweepTemporary() {
	root, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return
	}
	dirs, err := filepath.Glob(filepath.Join(root, temporaryPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !ownedByUs(info) {
			continue
		}
		l := layout{dir: dir, temporary: true}
		held, err := takeOver(l)
		if err != nil {
			continue
		}
		if endProcesses(l) == nil {
			_ = l.remove()
		}
		_ = held.release()
	}
}

func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

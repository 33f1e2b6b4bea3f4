// SPDX-License-Identifier: Apache-2.0

// Package flock implements file locks between processes. The kernel releases a lock when the process that holds it
// exits or crashes.
package flock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks file exclusively and reports whether it succeeded. It does not wait for other holders.
func Try(file *os.File) (bool, error) {
	err := lock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Wait locks file exclusively. It waits until no other open file holds the lock.
func Wait(file *os.File) error { return lock(file, syscall.LOCK_EX) }

func lock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "flock", Path: file.Name(), Err: err}
		}
	}
}

// Release unlocks and closes file. Closing is not enough: if another goroutine is starting a child process, the child
// may briefly have a copy of the open file.
func Release(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

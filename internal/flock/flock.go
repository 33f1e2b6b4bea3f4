// SPDX-License-Identifier: Apache-2.0

// Package flock locks files between processes. The kernel drops a lock when its holder ends, however it ends.
package flock

import (
	"errors"
	"os"
	"syscall"
)

// Try locks file exclusively if no other open file holds it, and says whether it did.
func Try(file *os.File) (bool, error) {
	err := lock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Wait locks file exclusively, when no other open file holds it any more.
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

// Release unlocks and closes file. Closing alone is not enough: a child that another goroutine is just starting may
// have a copy of the open file for a moment.
func Release(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

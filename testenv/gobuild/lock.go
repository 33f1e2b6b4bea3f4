// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/internal/flock"
)

// pollInterval is how often a waiting process tries the lock. A blocking lock could not be cancelled by ctx.
const pollInterval = 200 * time.Millisecond

// Lock acquires an exclusive lock on the file at path, which lasts until release is called or the process
// ends. If another process holds the lock, Lock calls waiting once with that process's description, and waits.
// Lock creates the file if needed, but not its directory, and does not delete it.
func Lock(ctx context.Context, path string, waiting func(holder string)) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for said := false; ; {
		got, err := flock.Try(file)
		if err != nil {
			return nil, closing(file, err)
		}
		if got {
			break
		}
		if !said {
			said = true
			waiting(holderOf(path))
		}
		select {
		case <-ctx.Done():
			return nil, closing(file, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
	// Only for the message to waiting processes: an error must not fail the build.
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "process %d", os.Getpid())
	}
	return func() { _ = flock.Release(file) }, nil
}

func closing(file *os.File, err error) error {
	_ = file.Close()
	return err
}

func holderOf(path string) string {
	content, err := os.ReadFile(path)
	if holder := strings.TrimSpace(string(content)); err == nil && holder != "" {
		return holder
	}
	return "another process"
}

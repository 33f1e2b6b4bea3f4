// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// tableRoot keeps the root credentials, so that a restarted server is the same account.
const tableRoot = "root"

func rootOf(j journal.Journal) (Credentials, error) {
	raw, ok := j.Table(tableRoot)["credentials"]
	var c Credentials
	if !ok {
		return c, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("read the root credentials from the journal: %w", err)
	}
	return c, nil
}

func saveRoot(j journal.Journal, c Credentials) error {
	if !journal.Writes(j) {
		return nil
	}
	rec, err := journal.Put(tableRoot, "credentials", c)
	if err != nil {
		return fmt.Errorf("save the root credentials: %w", err)
	}
	if err := j.Append(rec); err != nil {
		return fmt.Errorf("save the root credentials: %w", err)
	}
	return nil
}

// Listen opens address, host:port, and says what to do when that fails.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, listenError(address, err)
	}
	return l, nil
}

// listenError says what to do about a port that cannot be had.
func listenError(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen on %s: the port is in use by another process; stop it, or choose another port (port 0 takes a free one): %w", address, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listen on %s: this user may not open the port; choose one above 1023: %w", address, err)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}

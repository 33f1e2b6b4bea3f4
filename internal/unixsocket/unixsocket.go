// SPDX-License-Identifier: Apache-2.0

// Package unixsocket parses addresses of UNIX sockets and listens on them.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// maxSocketPath is the maximum length of a path in the kernel's sun_path, without the closing zero byte.
	maxSocketPath = 107
	// probeTimeout limits the check whether a process listens on an existing socket.
	probeTimeout = time.Second
)

// Path returns the path of an endpoint of the form unix:///path/to/driver.sock, the only form that the specification
// allows. Its errors explain what is wrong and how to correct it. Callers should add the place where the endpoint was
// configured.
func Path(endpoint string) (string, error) {
	const form = "use unix:///path/to/driver.sock"
	if endpoint == "" {
		return "", fmt.Errorf("no endpoint is set; %s", form)
	}
	path, found := strings.CutPrefix(endpoint, "unix://")
	switch {
	case !found:
		return "", fmt.Errorf("%q is not a UNIX socket address; %s", endpoint, form)
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("%q has no absolute path; %s (three slashes)", endpoint, form)
	case !strings.HasSuffix(path, ".sock") || strings.HasSuffix(path, "/.sock"):
		return "", fmt.Errorf("%q does not end with a name and .sock; %s", endpoint, form)
	case len(path) > maxSocketPath:
		return "", fmt.Errorf("the path has %d bytes, but the kernel allows %d for a socket; use a shorter directory: %s",
			len(path), maxSocketPath, path)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%q contains a zero byte; %s", endpoint, form)
	}
	return filepath.Clean(path), nil
}

// Listen creates the socket with the given mode. It creates the directory if it is missing. It replaces a stale socket
// of a process that has ended, but no other file. Closing the listener removes the socket.
func Listen(ctx context.Context, endpoint string, mode fs.FileMode) (net.Listener, error) {
	path, err := Path(endpoint)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("create the directory of the socket: %w", err)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("set the mode of the socket: %w", err), listener.Close())
	}
	return listener, nil
}

// removeStale removes a socket that no process listens on.
func removeStale(ctx context.Context, path string) error {
	found, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check for the socket of an earlier process: %w", err)
	}
	if found.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; remove it, or use another path", path)
	}
	dialer := net.Dialer{Timeout: probeTimeout}
	connection, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another process already serves %s; stop it, or use another path", path), connection.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot determine whether another process serves %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the socket of an earlier process: %w", err)
	}
	return nil
}

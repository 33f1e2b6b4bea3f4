// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// Driver is a driver with a sidecar in the system. One of Serve and Endpoint is set.
type Driver struct {
	// Name is the name that DriverGetInfo returns and classes use.
	Name string
	// Serve serves the driver on endpoint, a UNIX socket in a new directory, until ctx ends.
	Serve func(ctx context.Context, endpoint string) error
	// Endpoint is the address of an external driver, such as unix:///run/driver.sock.
	Endpoint string
}

const socketScheme = "unix://"

// endpoint returns the driver's address in the directory of sockets. It does not contain the driver's name,
// because the path of a socket is limited to about a hundred bytes.
func (d Driver) endpoint(sockets string, index int) string {
	if d.Endpoint != "" {
		return d.Endpoint
	}
	return socketScheme + filepath.Join(sockets, fmt.Sprintf("driver-%d.sock", index))
}

// serving returns the work of a driver. It is ready when its socket accepts connections.
func (d Driver) serving(endpoint string) work {
	return func(ctx context.Context, _ prometheus.Registerer, ready func()) error {
		listening, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			if controlplane.Until(listening, accepts(endpoint)) == nil {
				ready()
			}
		}()
		return d.Serve(ctx, endpoint)
	}
}

// accepts returns a check that succeeds when the socket accepts a connection.
func accepts(endpoint string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(endpoint, socketScheme))
		if err != nil {
			return fmt.Errorf("connect to the driver at %s: %w", endpoint, err)
		}
		return connection.Close()
	}
}

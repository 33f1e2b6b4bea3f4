// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// UpstreamDialect names Upstream of ConnectOptions for administrators.
const UpstreamDialect = driver.UpstreamDialect

// DefaultDeadline is the Deadline of ConnectOptions that set none.
const DefaultDeadline = driver.DefaultDeadline

// ConnectOptions says where the driver is and how to call it.
type ConnectOptions = driver.Options

// A Driver is a driver that responded once. It reconnects by itself.
type Driver struct {
	conn     *driver.Driver
	deadline time.Duration
}

// Connect waits for the driver and asks its name. It says in the log, once for
// each reason, why it waits, and fails only when the address breaks a rule,
// with a message that says which, or when ctx ends.
func Connect(ctx context.Context, o ConnectOptions) (*Driver, error) {
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	conn, err := driver.Connect(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	return &Driver{conn: conn, deadline: o.Deadline}, nil
}

// Name returns the driver's name, which never changes.
func (d *Driver) Name() string { return d.conn.Info().Name }

// Connected returns nil while the driver is connected and responds to
// DriverGetInfo, else why not.
func (d *Driver) Connected() error { return d.conn.Connected() }

// Close ends the connection and all RPCs in flight. Close it after the manager
// has stopped.
func (d *Driver) Close() { d.conn.Close() }

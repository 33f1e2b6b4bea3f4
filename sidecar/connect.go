// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// DefaultDeadline is the Deadline of ConnectOptions that set none.
const DefaultDeadline = driver.DefaultDeadline

// ConnectOptions configure the connection to the driver and its calls.
type ConnectOptions = driver.Options

// A Driver is a driver that has responded at least once. It reconnects automatically.
type Driver struct {
	conn     *driver.Driver
	deadline time.Duration
}

// Connect waits for the driver and reads its name. It logs each reason for waiting once. It returns an error only if
// ctx ends or the address is invalid; the error then names the violated rule.
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

// Connected returns nil while the driver is connected and responds to DriverGetInfo. Otherwise it returns the problem.
func (d *Driver) Connected() error { return d.conn.Connected() }

// Close closes the connection and aborts all RPCs in flight. Call it after the manager has stopped.
func (d *Driver) Close() { d.conn.Close() }

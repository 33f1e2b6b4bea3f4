// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// UpstreamDialect names Upstream of ConnectOptions for administrators.
const UpstreamDialect = driver.UpstreamDialect

// DefaultDeadline is the Deadline of ConnectOptions that set none.
const DefaultDeadline = driver.DefaultDeadline

// ConnectOptions says where the driver is and how to call it.
type ConnectOptions struct {
	// Address of the driver, such as unix:///var/run/cosi/driver.sock.
	Address string
	// Deadline bounds each RPC; zero means DefaultDeadline.
	Deadline time.Duration
	// InfoInterval is how often DriverGetInfo is asked again while connected;
	// zero means a minute.
	InfoInterval time.Duration
	// Upstream says that the driver speaks v1alpha2 as the upstream project does. It
	// shares the path of ours and differs in meaning, so that it has to be said. A driver
	// of v1alpha1 is recognized.
	Upstream bool
	// Registerer gets the metrics of the RPCs; nil drops them.
	Registerer prometheus.Registerer
	// TracerProvider gets a span for each RPC but DriverGetInfo, and the driver
	// learns to which trace it belongs; nil means OpenTelemetry's global one.
	TracerProvider trace.TracerProvider
	// Logger gets RPCs, without their secrets, and what becomes of the
	// connection.
	Logger logr.Logger
}

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
	var name atomic.Pointer[string]
	var interceptors []grpc.UnaryClientInterceptor
	if o.Registerer != nil {
		m, err := metrics.NewSidecar(o.Registerer)
		if err != nil {
			return nil, fmt.Errorf("sidecar: %w", err)
		}
		interceptors = append(interceptors, driver.Measure(m, func() string {
			if known := name.Load(); known != nil {
				return *known
			}
			return ""
		}))
	}
	conn, err := driver.Connect(ctx, driver.Options{
		Address: o.Address, Deadline: o.Deadline, InfoInterval: o.InfoInterval, Interceptors: interceptors, Log: o.Logger,
		Upstream: o.Upstream, Stats: driver.Trace(o.TracerProvider),
	})
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	known := conn.Info().Name
	name.Store(&known)
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

// SPDX-License-Identifier: Apache-2.0

// Package driver connects the sidecar to its driver. It watches the socket and the name of the driver. Every RPC has a
// deadline, a metric and a redacted log line, and its response is checked. The package does not use Kubernetes objects.
package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Defaults of Options.
const (
	DefaultDeadline     = 60 * time.Second
	DefaultInfoInterval = time.Minute

	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// Options configure the connection to the driver and its calls.
type Options struct {
	// Address is the socket of the driver, such as unix:///var/run/cosi/driver.sock.
	Address string
	// Deadline limits each RPC. Zero means DefaultDeadline.
	Deadline time.Duration
	// InfoInterval is the time between two calls of DriverGetInfo while connected. The calls detect a changed
	// configuration. Zero means DefaultInfoInterval.
	InfoInterval time.Duration
	// Registerer registers the metrics of the RPCs. Nil disables them.
	Registerer prometheus.Registerer
	// TracerProvider creates a span for each RPC except DriverGetInfo. The trace ID is passed to the driver. Nil means
	// OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// Logger logs RPCs, without secrets, and changes of the connection.
	Logger logr.Logger
}

// Info is the response of a driver to DriverGetInfo.
type Info struct {
	// Name is the driver's name; it never changes within a Driver.
	Name string
	// Protocols are the protocols that the driver can serve.
	Protocols []cosi.ObjectProtocol_Type
	// Revision changes with the driver's configuration. It is empty if the driver sets none.
	Revision string
	// Changeable are the keys of the parameters that the driver can change on an existing bucket.
	Changeable []string
	// Epoch increases whenever the driver has reconnected or returns a different response to DriverGetInfo.
	Epoch uint64
}

// A Driver is a driver that was connected at least once. Its methods for RPCs fail with a *Failure. While the driver
// is not connected, they fail with Unavailable and send nothing.
type Driver struct {
	options Options
	metrics *metrics.Sidecar
	socket  string
	stop    context.CancelFunc
	stopped chan struct{}
	closing sync.WaitGroup // sessions that have ended, while their calls run
	secrets secretValues

	mu       sync.Mutex
	session  *session // nil while the driver is not connected
	problem  error    // why session is nil, or why the last call of DriverGetInfo failed
	info     Info
	watchers []func()
}

// Connect waits until a driver responds at the address and returns it. It logs each reason for waiting once. It fails
// only if the address is invalid or ctx ends. The Driver reconnects until Close.
func Connect(ctx context.Context, options Options) (*Driver, error) {
	socket, err := unixsocket.Path(options.Address)
	if err != nil {
		return nil, fmt.Errorf("driver address: %w", err)
	}
	if options.Deadline == 0 {
		options.Deadline = DefaultDeadline
	}
	if options.InfoInterval == 0 {
		options.InfoInterval = DefaultInfoInterval
	}
	registerer := options.Registerer
	if registerer == nil {
		registerer = prometheus.NewRegistry()
	}
	m, err := metrics.NewSidecar(registerer)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := &Driver{options: options, metrics: m, socket: socket, stop: stop, stopped: make(chan struct{})}
	first, err := d.connect(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	go d.run(life, first)
	return d, nil
}

// Close ends the connection and all calls in flight.
func (d *Driver) Close() {
	d.stop()
	<-d.stopped
}

// Info returns the latest response to DriverGetInfo.
func (d *Driver) Info() Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info
}

// Connected returns nil while the driver is connected and responds to DriverGetInfo. Otherwise it returns the problem.
// The sidecar still calls a connected driver that does not respond to DriverGetInfo.
func (d *Driver) Connected() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.problem
}

// OnChange registers f to be called whenever the Epoch of Info increases. f must not block or call the Driver.
func (d *Driver) OnChange(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watchers = append(d.watchers, f)
}

// run watches sessions, one after the other.
func (d *Driver) run(ctx context.Context, s *session) {
	defer close(d.stopped)
	defer d.closing.Wait()
	for {
		reason := d.watchSession(ctx, s)
		d.dropSession(reason)
		over := s
		d.closing.Go(func() { d.closeSession(ctx, over) })
		if ctx.Err() != nil {
			return
		}
		d.options.Logger.Info("Lost the connection to the driver, reconnecting", "address", d.options.Address, "reason", reason.Error())
		var err error
		if s, err = d.connect(ctx); err != nil {
			return
		}
		d.options.Logger.Info("Reconnected to the driver", "address", d.options.Address, "driver", d.Info().Name)
	}
}

// closeSession closes a session that has ended, after its running calls. A driver that shuts down still responds to
// them.
func (d *Driver) closeSession(ctx context.Context, s *session) {
	s.ended(ctx)
	if err := s.close(); err != nil {
		d.options.Logger.V(1).Info("Closing the connection failed", "reason", err.Error())
	}
}

// watchSession calls DriverGetInfo at each InfoInterval and returns why the session has ended.
func (d *Driver) watchSession(ctx context.Context, s *session) error {
	lost := s.lost(ctx)
	tick := time.NewTicker(d.options.InfoInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the sidecar is stopping: %w", ctx.Err())
		case <-lost:
			return errConnectionLost
		case <-tick.C:
			response, err := s.info(ctx, d.options.Deadline)
			if err != nil {
				d.setProblem(err)
				d.options.Logger.Info("DriverGetInfo failed", "reason", err.Error())
				continue
			}
			if err := d.setSession(s, response, false); err != nil {
				return err
			}
		}
	}
}

// connect retries with backoff until a driver with the right name responds.
func (d *Driver) connect(ctx context.Context) (*session, error) {
	pause, said := firstPause, ""
	for {
		s, err := d.connectOnce(ctx)
		if err == nil {
			return s, nil
		}
		d.dropSession(err)
		if said != err.Error() {
			said = err.Error()
			d.options.Logger.Info("Waiting for the driver", "address", d.options.Address, "reason", said)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gave up waiting for the driver at %s: %w (last error: %w)", d.options.Address, ctx.Err(), err)
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
}

// connectOnce opens one session and makes it available for RPCs.
func (d *Driver) connectOnce(ctx context.Context) (*session, error) {
	limited, cancel := context.WithTimeout(ctx, d.options.Deadline)
	defer cancel()
	around := []grpc.DialOption{
		grpc.WithStatsHandler(redacting{Trace(d.options.TracerProvider), &d.secrets}),
		grpc.WithChainUnaryInterceptor(Measure(d.metrics, func() string { return d.Info().Name }), d.logged, d.secrets.intercept),
	}
	s, err := dial(limited, d.socket, around...)
	if err != nil {
		return nil, err
	}
	response, err := s.info(ctx, d.options.Deadline)
	if err == nil {
		err = d.setSession(s, response, true)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// setSession makes the session the current one if the driver has the right name.
func (d *Driver) setSession(s *session, response *cosi.DriverGetInfoResponse, reconnected bool) error {
	next := Info{Name: response.GetName(), Revision: response.GetRevision(), Changeable: slices.Sorted(slices.Values(response.GetChangeableBucketParameters()))}
	for _, protocol := range response.GetSupportedProtocols() {
		next.Protocols = append(next.Protocols, protocol.GetType())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.Name != "" && d.info.Name != next.Name {
		return fmt.Errorf("the driver at %s has the name %q, but this sidecar serves %q: "+
			"start the earlier driver again, or restart the sidecar to serve the new driver", d.options.Address, next.Name, d.info.Name)
	}
	d.session, d.problem = s, nil
	if !reconnected && next.Revision == d.info.Revision && slices.Equal(next.Protocols, d.info.Protocols) && slices.Equal(next.Changeable, d.info.Changeable) {
		return nil
	}
	next.Epoch = d.info.Epoch + 1
	d.info = next
	for _, watcher := range d.watchers {
		watcher()
	}
	return nil
}

// setProblem stores why DriverGetInfo failed, until it succeeds.
func (d *Driver) setProblem(reason error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problem = fmt.Errorf("DriverGetInfo of the driver at %s failed: %w", d.options.Address, reason)
}

func (d *Driver) dropSession(reason error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session, d.problem = nil, reason
}

// acquireSession returns the session for a call. The caller must call Done on the session's calls at the end. While
// the driver is not connected, the session is nil and the error is the reason.
func (d *Driver) acquireSession() (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != nil {
		d.session.calls.Add(1)
	}
	return d.session, d.problem
}

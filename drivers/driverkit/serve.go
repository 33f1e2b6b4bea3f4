// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// Options configures Serve. Only Endpoint is required.
type Options struct {
	// Endpoint is the address to listen on, unix:///path/to/driver.sock.
	Endpoint string
	// V1Alpha1 also serves the cosi.v1alpha1 services on Endpoint, for the sidecar of the upstream project's v0.2.
	// The ID of a bucket must then equal the requested name, or end with a dot and the requested name, like the IDs
	// that Backends.JoinID returns. The kit rejects buckets with other IDs, because the upstream sidecar gives
	// workloads the requested name as the bucket's name.
	V1Alpha1 bool
	// UpstreamEndpoint is a second socket that serves the upstream project's dialect of v1alpha2, as of its commit
	// ee00c26. It needs its own directory. Default: none.
	UpstreamEndpoint string
	// SocketMode is the file mode of the sockets. Default: 0660, for owner and group, because sidecar and driver
	// share a group in a pod. Serve rejects modes that give other users permissions.
	SocketMode fs.FileMode
	// Logger logs one line for each call, without secrets. Default: slog.Default().
	Logger *slog.Logger
	// MetricsAddress is a TCP address for /metrics, such as ":8080". Default: none.
	MetricsAddress string
	// HealthAddress is a TCP address for /healthz and /readyz, such as ":8082", for clients that do not support gRPC
	// health checks. /healthz returns 200 while the driver serves, and /readyz while its backend responds. Otherwise
	// they return 503. Default: none.
	HealthAddress string
	// Registry collects the metrics. Default: a new registry.
	Registry *prometheus.Registry
	// TracerProvider creates a span for each call. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// CallTimeout limits calls for which the client sets no deadline. Default: one minute.
	CallTimeout time.Duration
	// StopTimeout is how long running calls may continue after the context ends. Default: 8 s, which is less than the
	// grace period of Kubernetes and container runtimes.
	StopTimeout time.Duration
}

const (
	defaultCallTimeout = time.Minute
	defaultStopTimeout = 8 * time.Second
	defaultSocketMode  = 0o660
)

func (o Options) withDefaults() (Options, error) {
	if o.SocketMode == 0 {
		o.SocketMode = defaultSocketMode
	}
	if o.SocketMode&^0o770 != 0 {
		return o, fmt.Errorf("socket mode %#o allows users other than the owner and group to connect; use 0660 or 0600", o.SocketMode)
	}
	if err := o.checkUpstream(); err != nil {
		return o, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = defaultStopTimeout
	}
	return o, nil
}

// checkUpstream rejects a second socket in the directory of the first, which must contain nothing else. See the
// v1alpha1 specification, section "Configuration and operation".
func (o Options) checkUpstream() error {
	if o.UpstreamEndpoint == "" {
		return nil
	}
	second, err := SocketPath(o.UpstreamEndpoint)
	if err != nil {
		return fmt.Errorf("read the endpoint for upstream's v1alpha2: %w", err)
	}
	first, err := SocketPath(o.Endpoint)
	if err == nil && filepath.Dir(first) == filepath.Dir(second) {
		return fmt.Errorf("the endpoint for upstream's v1alpha2, %s, is in the directory of %s, which may contain only that socket; use a separate directory", second, first)
	}
	return nil
}

// Main serves driver as a process. It listens on COSI_ENDPOINT, or on Options.Endpoint if that is set, and stops on
// SIGTERM and SIGINT. If it cannot start or fails, it prints a message to standard error and exits with status 1.
func Main(driver Driver, options Options) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	var err error
	if options.Endpoint == "" {
		options.Endpoint = os.Getenv(EndpointVariable)
		if _, err = SocketPath(options.Endpoint); err != nil {
			err = fmt.Errorf("%s: %w", EndpointVariable, err)
		}
	}
	if err == nil {
		err = Serve(ctx, driver, options)
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot serve the driver: %v\n", err)
		os.Exit(1) //nolint:forbidigo // Main is a driver's main
	}
}

// Serve serves driver until ctx ends. It then waits up to StopTimeout for running calls, cancels the remaining ones,
// removes the socket and returns nil. It returns an error if the driver's declaration, the options or the socket are
// invalid.
func Serve(ctx context.Context, driver Driver, options Options) error {
	info := driver.Info()
	if err := info.check(); err != nil {
		return err
	}
	return serve(ctx, service{
		name: info.Name, rpcs: &rpcs{driver: driver}, driver: driver, checker: driver,
		details: []any{
			"v1alpha1", options.V1Alpha1, "upstreamEndpoint", options.UpstreamEndpoint, "protocols", info.Protocols, "revision", info.Revision,
		},
	}, options)
}

// RPCs is the contract itself. Most drivers implement Driver instead. The kit validates requests and responses, and
// converts errors, as for a Driver. If the implementation is a BackendChecker or BackendsChecker, the kit checks its
// backends.
type RPCs interface {
	cosi.IdentityServer
	cosi.ProvisionerServer
}

// ServeRPCs is Serve for a driver that implements the RPCs itself. It does not translate calls: it returns an error if
// the options set V1Alpha1 or UpstreamEndpoint. name is the driver's name, for metrics and logs.
func ServeRPCs(ctx context.Context, name string, served RPCs, options Options) error {
	if options.V1Alpha1 || options.UpstreamEndpoint != "" {
		return errors.New("ServeRPCs serves only the contract of this package: leave V1Alpha1 and UpstreamEndpoint empty")
	}
	return serve(ctx, service{name: name, rpcs: served, checker: served}, options)
}

// service is the driver that serve serves.
type service struct {
	name string
	rpcs RPCs
	// driver is nil for ServeRPCs.
	driver Driver
	// checker may be a BackendChecker or BackendsChecker.
	checker any
	// details are attributes for the log.
	details []any
}

func serve(ctx context.Context, s service, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	metrics, err := newMetrics(options.Registry, s.name)
	if err != nil {
		return err
	}
	healthy := health.NewServer()
	sockets, err := newSockets(ctx, s, options, metrics, healthy)
	if err != nil {
		return err
	}
	pages, err := servePages(ctx, options, healthy)
	defer pages.stop()
	if err == nil {
		err = watchBackend(ctx, s, healthy, options)
	}
	if err != nil {
		return errors.Join(err, closeAll(sockets))
	}
	options.Logger.InfoContext(ctx, "driver serves", append([]any{"driver", s.name, "endpoint", options.Endpoint}, s.details...)...)
	return runServers(ctx, sockets, healthy, options)
}

// socket is a listener with its server.
type socket struct {
	server   *grpc.Server
	listener net.Listener
}

// newSockets listens on all endpoints. They share one guard, so calls for one ID are serialized across endpoints.
func newSockets(ctx context.Context, s service, options Options, metrics *metrics, healthy *health.Server) ([]socket, error) {
	around := &guard{timeout: options.CallTimeout}
	translated := wire{rpcs: &rpcs{driver: s.driver, onlyPairs: true}, around: around}
	main := newServer(options, metrics, around, healthy)
	cosi.RegisterIdentityServer(main, s.rpcs)
	cosi.RegisterProvisionerServer(main, s.rpcs)
	if options.V1Alpha1 {
		old := &v1alpha1Wire{wire: translated}
		v1alpha1.RegisterIdentityServer(main, old)
		v1alpha1.RegisterProvisionerServer(main, old)
	}
	listener, err := unixsocket.Listen(ctx, options.Endpoint, options.SocketMode)
	if err != nil {
		return nil, err
	}
	sockets := []socket{{main, listener}}
	if options.UpstreamEndpoint == "" {
		return sockets, nil
	}
	second := newServer(options, metrics, around, healthy)
	cosi.RegisterIdentityServer(second, s.rpcs)
	upstream.Register(second, &upstreamWire{wire: translated})
	if listener, err = unixsocket.Listen(ctx, options.UpstreamEndpoint, options.SocketMode); err != nil {
		return nil, errors.Join(err, closeAll(sockets))
	}
	return append(sockets, socket{second, listener}), nil
}

func closeAll(sockets []socket) error {
	var err error
	for _, one := range sockets {
		err = errors.Join(err, one.listener.Close())
	}
	return err
}

func newServer(options Options, metrics *metrics, around *guard, healthy *health.Server) *grpc.Server {
	// A call belongs to the trace of its caller, the sidecar.
	tracing := []otelgrpc.Option{otelgrpc.WithPropagators(propagation.TraceContext{})}
	if options.TracerProvider != nil {
		tracing = append(tracing, otelgrpc.WithTracerProvider(options.TracerProvider))
	}
	server := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler(tracing...)),
		grpc.ChainUnaryInterceptor(metrics.intercept, cosi.UnaryServerLogging(logCall(options.Logger)), around.intercept),
	)
	healthpb.RegisterHealthServer(server, healthy)
	return server
}

// runServers serves until ctx ends and then stops within a bounded time.
func runServers(ctx context.Context, sockets []socket, healthy *health.Server, options Options) error {
	served := make(chan error, len(sockets))
	for _, one := range sockets {
		go func() { served <- one.server.Serve(one.listener) }()
	}
	var failed error
	left := len(sockets)
	select {
	case err := <-served:
		failed = fmt.Errorf("serve a socket: %w", err)
		left--
	case <-ctx.Done():
	}
	healthy.Shutdown()
	stopServers(sockets, options)
	options.Logger.Info("driver stopped")
	for range left {
		// If ctx ended before the server started, Serve returns this error.
		if err := <-served; !errors.Is(err, grpc.ErrServerStopped) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// stopServers lets running calls finish and cancels the remaining ones after the timeout.
func stopServers(sockets []socket, options Options) {
	stopped := make(chan struct{})
	go func() {
		var group sync.WaitGroup
		for _, one := range sockets {
			group.Go(one.server.GracefulStop)
		}
		group.Wait()
		close(stopped)
	}()
	timer := time.NewTimer(options.StopTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		options.Logger.Warn("calls were cancelled because they did not finish in time", "timeout", options.StopTimeout)
		for _, one := range sockets {
			one.server.Stop()
		}
	}
}

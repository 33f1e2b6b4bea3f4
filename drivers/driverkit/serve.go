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
)

// Options configures Serve. Only Endpoint is needed.
type Options struct {
	// Endpoint is where to listen, unix:///path/to/driver.sock.
	Endpoint string
	// SocketMode is the mode of the socket. Default 0660: owner and group, as sidecar and driver
	// share a group in a pod. Others than owner and group are refused.
	SocketMode fs.FileMode
	// Logger gets one line for each call, without secrets. Default slog.Default().
	Logger *slog.Logger
	// MetricsAddress is a TCP address such as ":8080" to serve /metrics on. Default none.
	MetricsAddress string
	// HealthAddress is a TCP address such as ":8082" to serve /healthz and /readyz on, for what
	// cannot ask for gRPC health: 200 while the driver serves, and 200 while its backend responds,
	// else 503. Default none.
	HealthAddress string
	// Registry collects the metrics. Default a new one.
	Registry *prometheus.Registry
	// TracerProvider gets a span for each call. Default OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// CallTimeout bounds calls of clients that set no deadline. Default one minute.
	CallTimeout time.Duration
	// StopTimeout is how long running calls may go on after the context ended. Default 8 s, which
	// is less than Kubernetes and container runtimes wait before they kill.
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
		return o, fmt.Errorf("socket mode %#o lets others than owner and group in; use 0660 or 0600", o.SocketMode)
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

// Main serves driver as a process: it listens where COSI_ENDPOINT says, stops on SIGTERM and
// SIGINT, and exits with 1 and a message on standard error if it cannot start or fails. Where
// options set Endpoint, that is used instead of the environment.
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

// Serve serves driver until ctx ends, then waits up to StopTimeout for running calls, cancels what
// is left, removes the socket and returns nil. It returns an error if the declaration of the
// driver, the options or the socket are not usable.
func Serve(ctx context.Context, driver Driver, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	info := driver.Info()
	if err := info.check(); err != nil {
		return err
	}
	metrics, err := newMetrics(options.Registry, info.Name)
	if err != nil {
		return err
	}
	listener, err := unixsocket.Listen(ctx, options.Endpoint, options.SocketMode)
	if err != nil {
		return err
	}
	server, healthy := newServer(driver, options, metrics)
	pages, err := servePages(ctx, options, healthy)
	defer pages.stop()
	if err == nil {
		err = watchBackend(ctx, driver, healthy, options)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	options.Logger.InfoContext(ctx, "driver serves", "driver", info.Name, "endpoint", options.Endpoint,
		"protocols", info.Protocols, "revision", info.Revision)
	return runServer(ctx, server, healthy, listener, options)
}

func newServer(driver Driver, options Options, metrics *metrics) (*grpc.Server, *health.Server) {
	around := &guard{timeout: options.CallTimeout}
	// A call belongs to the trace of its caller, the sidecar.
	tracing := []otelgrpc.Option{otelgrpc.WithPropagators(propagation.TraceContext{})}
	if options.TracerProvider != nil {
		tracing = append(tracing, otelgrpc.WithTracerProvider(options.TracerProvider))
	}
	server := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler(tracing...)),
		grpc.ChainUnaryInterceptor(metrics.intercept, cosi.UnaryServerLogging(logCall(options.Logger)), around.intercept),
	)
	served := &rpcs{driver: driver}
	cosi.RegisterIdentityServer(server, served)
	cosi.RegisterProvisionerServer(server, served)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(server, healthy)
	return server, healthy
}

// runServer serves until ctx ends and then stops in bounded time.
func runServer(
	ctx context.Context, server *grpc.Server, healthy *health.Server, listener net.Listener, options Options,
) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving the socket: %w", err)
	case <-ctx.Done():
	}
	healthy.Shutdown()
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	timer := time.NewTimer(options.StopTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		options.Logger.Warn("calls are cancelled, since they did not end in time", "timeout", options.StopTimeout)
		server.Stop()
	}
	options.Logger.Info("driver stopped")
	// When ctx ended before the server began, it says so.
	if err := <-served; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// pages are the HTTP servers of a driver, in addition to its socket.
type pages []page

type page struct {
	server *http.Server
	done   chan struct{}
}

// servePages serves metrics and health over HTTP if the options ask for it. If it returns an error, it also returns
// the servers that the caller must stop.
func servePages(ctx context.Context, options Options, healthy *health.Server) (pages, error) {
	var made pages
	if options.MetricsAddress != "" {
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.HandlerFor(options.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
		if err := made.serve(ctx, "metrics", options.MetricsAddress, mux, options); err != nil {
			return made, err
		}
	}
	if options.HealthAddress != "" {
		mux := http.NewServeMux()
		mux.Handle("/healthz", healthPage(healthy, ""))
		mux.Handle("/readyz", healthPage(healthy, BackendService))
		if err := made.serve(ctx, "health", options.HealthAddress, mux, options); err != nil {
			return made, err
		}
	}
	return made, nil
}

func (p *pages) serve(ctx context.Context, what, address string, handler http.Handler, options Options) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s over HTTP: %w", what, err)
	}
	made := page{server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(made.done)
		if err := made.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			options.Logger.Error(what+" is no longer served", "error", err)
		}
	}()
	*p = append(*p, made)
	options.Logger.InfoContext(ctx, "serving HTTP", "what", what, "address", listener.Addr().String())
	return nil
}

func (p pages) stop() {
	for _, made := range p {
		// Cutting off a response is harmless.
		_ = made.server.Close()
		<-made.done
	}
}

// healthPage serves the gRPC health of a service over HTTP: 200 with "ok", or 503 with the reason. If the driver
// cannot check its backend, the service does not exist and the driver is ready as soon as it serves.
func healthPage(healthy *health.Server, service string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := healthy.Check(r.Context(), &healthpb.HealthCheckRequest{Service: service})
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch {
		case err != nil, answer.GetStatus() == healthpb.HealthCheckResponse_SERVING:
			_, _ = w.Write([]byte("ok\n"))
		case answer.GetStatus() == healthpb.HealthCheckResponse_UNKNOWN:
			http.Error(w, "the backend has not been checked yet", http.StatusServiceUnavailable)
		case service == BackendService:
			http.Error(w, "the backend does not respond; see the log for the reason", http.StatusServiceUnavailable)
		default:
			http.Error(w, "the driver is stopping", http.StatusServiceUnavailable)
		}
	})
}

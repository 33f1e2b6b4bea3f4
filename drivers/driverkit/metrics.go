// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// metrics counts and times the calls of the contract.
type metrics struct {
	duration *prometheus.HistogramVec
	running  *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer, driver string) (*metrics, error) {
	labels := prometheus.Labels{"driver_name": driver}
	made := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:        "cosi_driver_rpc_duration_seconds",
			Help:        "Duration of each RPC served by the driver, by method and gRPC code.",
			ConstLabels: labels,
			Buckets:     []float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "grpc_status_code"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name:        "cosi_driver_rpc_in_flight",
			Help:        "RPCs that the driver serves now, by method.",
			ConstLabels: labels,
		}, []string{"method"}),
	}
	for _, collector := range []prometheus.Collector{made.duration, made.running} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return made, nil
}

func (m *metrics) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	if !ours(info.FullMethod) {
		return handle(ctx, request)
	}
	running := m.running.WithLabelValues(info.FullMethod)
	running.Inc()
	defer running.Dec()
	start := time.Now()
	reply, err := handle(ctx, request)
	m.duration.WithLabelValues(info.FullMethod, status.Code(err).String()).Observe(time.Since(start).Seconds())
	return reply, err
}

// scrapeServer serves /metrics; its zero value serves nothing.
type scrapeServer struct {
	server *http.Server
	done   chan struct{}
}

func serveMetrics(ctx context.Context, options Options) (scrapeServer, error) {
	if options.MetricsAddress == "" {
		return scrapeServer{}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", options.MetricsAddress)
	if err != nil {
		return scrapeServer{}, fmt.Errorf("serving metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(options.Registry, promhttp.HandlerOpts{}))
	made := scrapeServer{
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		done:   make(chan struct{}),
	}
	go func() {
		defer close(made.done)
		if err := made.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			options.Logger.Error("metrics are no longer served", "error", err)
		}
	}()
	options.Logger.InfoContext(ctx, "metrics are served", "address", listener.Addr().String())
	return made, nil
}

func (s scrapeServer) stop() {
	if s.server == nil {
		return
	}
	// A scrape that is cut off harms nobody.
	_ = s.server.Close()
	<-s.done
}

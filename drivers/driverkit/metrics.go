// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
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
			Help:        "RPCs that are in progress, by method.",
			ConstLabels: labels,
		}, []string{"method"}),
	}
	for _, collector := range []prometheus.Collector{made.duration, made.running} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
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
	observe(ctx, m.duration.WithLabelValues(info.FullMethod, status.Code(err).String()), time.Since(start))
	return reply, err
}

// observe records the duration of a call. If the call's trace is sampled, the trace ID is attached as an exemplar,
// which OpenMetrics clients receive.
func observe(ctx context.Context, duration prometheus.Observer, took time.Duration) {
	span := trace.SpanContextFromContext(ctx)
	exemplars, ok := duration.(prometheus.ExemplarObserver)
	if !ok || !span.IsSampled() {
		duration.Observe(took.Seconds())
		return
	}
	exemplars.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": span.TraceID().String()})
}

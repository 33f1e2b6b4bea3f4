// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// BackendService is the gRPC health service that reports whether the backend responds. With several backends, the
// service is healthy if all of them respond. The driver's own health, under the empty service name, does not depend
// on the backend, because restarting a driver does not repair its backend.
const BackendService = "cosi.backend"

// ServiceOfBackend returns the gRPC health service that reports whether one of several backends responds.
func ServiceOfBackend(name string) string { return BackendService + "/" + name }

// BackendChecker is an optional interface for drivers that can check whether their backend responds.
type BackendChecker interface {
	// CheckBackend makes an inexpensive, read-only call to the backend. Its error is logged when the result changes.
	CheckBackend(ctx context.Context) error
}

// BackendsChecker is a BackendChecker for drivers with several backends. It reports on each backend.
type BackendsChecker interface {
	// CheckBackends makes an inexpensive, read-only call to each backend. It returns an entry for every backend name:
	// nil or a Warning if the backend responds, otherwise the error.
	CheckBackends(ctx context.Context) map[string]error
}

// Warning is a check result for a backend that responds and is usable but is not correctly configured. The text
// states the problem and the fix. The kit logs a warning when it changes, and treats the backend as responding.
type Warning string

// Error implements error.
func (w Warning) Error() string { return string(w) }

const (
	checkInterval = 30 * time.Second
	checkTimeout  = 10 * time.Second
)

// backendHealth keeps the health of the backends up to date. Probes get the result of the last check, so they are
// fast and cause no backend calls.
type backendHealth struct {
	check   func(context.Context) map[string]error
	healthy *health.Server
	up      *prometheus.GaugeVec
	logger  *slog.Logger
	// last holds the last results by backend.
	last map[string]healthpb.HealthCheckResponse_ServingStatus
	// warned holds the last warnings by backend.
	warned map[string]Warning
}

// watchBackend periodically checks the backends of a driver that supports it, until ctx ends.
func watchBackend(ctx context.Context, s service, healthy *health.Server, options Options) error {
	check := checkOf(s.checker)
	if check == nil {
		return nil
	}
	watched := &backendHealth{
		check: check, healthy: healthy, logger: options.Logger, last: map[string]healthpb.HealthCheckResponse_ServingStatus{}, warned: map[string]Warning{},
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name:        "cosi_driver_backend_up",
			Help:        "1 if the backend responded to the last check, 0 otherwise, by backend; the label is empty if the driver has only one backend.",
			ConstLabels: prometheus.Labels{"driver_name": s.name},
		}, []string{"backend"}),
	}
	if err := options.Registry.Register(watched.up); err != nil {
		return err //nolint:wrapcheck // it names the metric
	}
	healthy.SetServingStatus(BackendService, healthpb.HealthCheckResponse_UNKNOWN)
	go watched.run(ctx)
	return nil
}

// checkOf returns a function that checks all backends of the driver, or nil if the driver cannot check them.
func checkOf(checker any) func(context.Context) map[string]error {
	switch checker := checker.(type) {
	case BackendsChecker:
		return checker.CheckBackends
	case BackendChecker:
		return func(ctx context.Context) map[string]error { return map[string]error{"": checker.CheckBackend(ctx)} }
	default:
		return nil
	}
}

func (b *backendHealth) run(ctx context.Context) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		b.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (b *backendHealth) ask(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	answers := b.check(bounded)
	if ctx.Err() != nil {
		return
	}
	all := healthpb.HealthCheckResponse_SERVING
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if status := b.note(ctx, name, answers[name]); status != healthpb.HealthCheckResponse_SERVING {
			all = status
		}
	}
	b.healthy.SetServingStatus(BackendService, all)
}

// note records the result for one backend.
func (b *backendHealth) note(ctx context.Context, name string, problem error) healthpb.HealthCheckResponse_ServingStatus {
	warning, warned := errors.AsType[Warning](problem)
	if warned {
		problem = nil
	}
	status, up := healthpb.HealthCheckResponse_SERVING, 1.0
	if problem != nil {
		status, up = healthpb.HealthCheckResponse_NOT_SERVING, 0
	}
	b.up.WithLabelValues(name).Set(up)
	if name != "" {
		b.healthy.SetServingStatus(ServiceOfBackend(name), status)
	}
	switch {
	case status == b.last[name]:
	case problem != nil:
		b.logger.WarnContext(ctx, "the backend does not respond", "backend", name, "error", problem)
	default:
		b.logger.InfoContext(ctx, "the backend responds", "backend", name)
	}
	if warned && warning != b.warned[name] {
		b.logger.WarnContext(ctx, "the backend is not configured correctly", "backend", name, "warning", string(warning))
	}
	b.last[name], b.warned[name] = status, warning
	return status
}

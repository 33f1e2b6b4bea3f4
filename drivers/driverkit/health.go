// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// BackendService is the name under which gRPC health checks tell whether the backend answers. The
// health of the driver itself, under the empty name, does not depend on it: to restart a driver
// does not mend its backend.
const BackendService = "cosi.backend"

// BackendChecker is implemented by a driver that can tell whether its backend answers.
type BackendChecker interface {
	// CheckBackend makes a cheap call to the backend that changes nothing. Its error goes to the log
	// when the answer changes.
	CheckBackend(ctx context.Context) error
}

const (
	checkInterval = 30 * time.Second
	checkTimeout  = 10 * time.Second
)

// backendHealth keeps the health of the backend current.
type backendHealth struct {
	checker BackendChecker
	healthy *health.Server
	up      prometheus.Gauge
	logger  *slog.Logger
	// last is the last answer, empty before the first.
	last healthpb.HealthCheckResponse_ServingStatus
}

// watchBackend checks the backend of a driver that can tell, until ctx ends.
func watchBackend(ctx context.Context, driver Driver, healthy *health.Server, options Options) error {
	checker, can := driver.(BackendChecker)
	if !can {
		return nil
	}
	watched := &backendHealth{checker: checker, healthy: healthy, logger: options.Logger, up: prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "cosi_driver_backend_up",
		Help:        "1 if the backend answered the last check, 0 otherwise.",
		ConstLabels: prometheus.Labels{"driver_name": driver.Info().Name},
	})}
	if err := options.Registry.Register(watched.up); err != nil {
		return err //nolint:wrapcheck // it names the metric
	}
	healthy.SetServingStatus(BackendService, healthpb.HealthCheckResponse_UNKNOWN)
	go watched.run(ctx)
	return nil
}

func (b *backendHealth) run(ctx context.Context) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		b.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (b *backendHealth) check(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := b.checker.CheckBackend(bounded)
	if ctx.Err() != nil {
		return
	}
	status, up := healthpb.HealthCheckResponse_SERVING, 1.0
	if err != nil {
		status, up = healthpb.HealthCheckResponse_NOT_SERVING, 0
	}
	b.up.Set(up)
	b.healthy.SetServingStatus(BackendService, status)
	switch {
	case status == b.last:
	case err != nil:
		b.logger.WarnContext(ctx, "the backend does not answer", "error", err)
	default:
		b.logger.InfoContext(ctx, "the backend answers")
	}
	b.last = status
}

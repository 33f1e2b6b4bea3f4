// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// BackendCallsOptions configures a BackendCalls.
type BackendCallsOptions struct {
	// DriverName is the value of the metric's driver_name label.
	DriverName string
	// Registerer registers the metric; nil means that it is not registered.
	Registerer prometheus.Registerer
	// TracerProvider creates the spans; nil means the global provider.
	TracerProvider trace.TracerProvider
	// Name returns a request's API and operation, taken from the context that the SDK set or from the URL. Both become
	// metric labels, so they must have few distinct values and must not include names of buckets or users.
	Name func(*http.Request) (api, operation string)
}

// BackendCalls counts, times and traces a driver's HTTP calls to its backends. It records the metric
// cosi_driver_backend_call_duration_seconds and a client span for each call, in addition to those that Serve records
// for each RPC. Each attempt of a call that an SDK retries is recorded separately.
type BackendCalls struct {
	name     func(*http.Request) (api, operation string)
	duration *prometheus.HistogramVec
	tracer   trace.Tracer
}

// NewBackendCalls creates a BackendCalls and registers its metric. It returns an error if the registration fails.
func NewBackendCalls(o BackendCallsOptions) (*BackendCalls, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	made := &BackendCalls{
		name:   o.Name,
		tracer: o.TracerProvider.Tracer("github.com/cooper-cosi/cooper/drivers/driverkit"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:        "cosi_driver_backend_call_duration_seconds",
			Help:        "Duration of each call to a store, by backend, API, operation and HTTP status; the status is empty if there is no response.",
			ConstLabels: prometheus.Labels{"driver_name": o.DriverName},
			Buckets:     []float64{.005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"backend", "api", "operation", "status"}),
	}
	if o.Registerer == nil {
		return made, nil
	}
	if err := o.Registerer.Register(made.duration); err != nil {
		return nil, fmt.Errorf("register the metric of the calls to backends: %w", err)
	}
	return made, nil
}

// Wrap returns a transport that observes the calls that go through next. backend is the backend's name in the
// configuration.
func (c *BackendCalls) Wrap(backend string, next http.RoundTripper) http.RoundTripper {
	return observed{calls: c, backend: backend, next: next}
}

type observed struct {
	calls   *BackendCalls
	backend string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(request *http.Request) (*http.Response, error) {
	api, operation := o.calls.name(request)
	ctx, span := o.calls.tracer.Start(request.Context(), api+"."+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("cosi.backend", o.backend), attribute.String("server.address", request.URL.Host)))
	defer span.End()
	begin := time.Now()
	response, err := o.next.RoundTrip(request.WithContext(ctx))
	status := ""
	if err != nil {
		span.SetStatus(codes.Error, "no response")
	} else {
		status = strconv.Itoa(response.StatusCode)
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	observe(ctx, o.calls.duration.WithLabelValues(o.backend, api, operation, status), time.Since(begin))
	return response, err
}

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

// BackendCallsOptions configure a BackendCalls.
type BackendCallsOptions struct {
	// DriverName is the label driver_name of the metric.
	DriverName string
	// Registerer takes the metric; nil keeps none.
	Registerer prometheus.Registerer
	// TracerProvider makes the spans; nil is the global one.
	TracerProvider trace.TracerProvider
	// Name names a request's API and operation, from the context that an SDK left or from the URL. Both are labels, so
	// there must be few of them and no names of buckets or users among them.
	Name func(*http.Request) (api, operation string)
}

// BackendCalls counts, times and traces the HTTP calls of a driver to its backends, as the metric
// cosi_driver_backend_call_duration_seconds and a client span for each, beside those that Serve makes for each RPC. A
// call that an SDK tries several times counts several times.
type BackendCalls struct {
	name     func(*http.Request) (api, operation string)
	duration *prometheus.HistogramVec
	tracer   trace.Tracer
}

// NewBackendCalls registers the metric. The error is the registerer's.
func NewBackendCalls(o BackendCallsOptions) (*BackendCalls, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	made := &BackendCalls{
		name:   o.Name,
		tracer: o.TracerProvider.Tracer("github.com/cooper-cosi/cooper/drivers/driverkit"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:        "cosi_driver_backend_call_duration_seconds",
			Help:        "Duration of each call to a store, by backend, API, operation and HTTP status; the status is empty without a response.",
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

// Wrap observes the calls to a backend that go through next. The backend is its name in the configuration.
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

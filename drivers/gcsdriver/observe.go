// SPDX-License-Identifier: Apache-2.0

package gcsdriver

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

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// instrumentation is the name of this package's spans.
const instrumentation = "github.com/cooper-cosi/cooper/drivers/gcsdriver"

// observer counts, times and traces the calls to Google. One call that is tried several times counts
// several times.
type observer struct {
	duration *prometheus.HistogramVec
	tracer   trace.Tracer
}

func newObserver(driver string, registerer prometheus.Registerer, provider trace.TracerProvider) (*observer, error) {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	made := &observer{
		tracer: provider.Tracer(instrumentation),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:        "cosi_driver_backend_call_duration_seconds",
			Help:        "Duration of each call to a store, by backend, API, operation and HTTP status; the status is empty without an answer.",
			ConstLabels: prometheus.Labels{"driver_name": driver},
			Buckets:     []float64{.005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"backend", "api", "operation", "status"}),
	}
	if registerer == nil {
		return made, nil
	}
	if err := registerer.Register(made.duration); err != nil {
		return nil, fmt.Errorf("register the metrics of the GCS driver: %w", err)
	}
	return made, nil
}

// wrap observes the calls that go through next.
func (o *observer) wrap(backend string, next http.RoundTripper) http.RoundTripper {
	return observed{observer: o, backend: backend, next: next}
}

type observed struct {
	observer *observer
	backend  string
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper. Requests for tokens have no operation.
func (o observed) RoundTrip(request *http.Request) (*http.Response, error) {
	api, operation := call.Name(request.Context())
	if operation == "" {
		api, operation = "oauth2", "token"
	}
	ctx, span := o.observer.tracer.Start(request.Context(), api+"."+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("cosi.backend", o.backend), attribute.String("server.address", request.URL.Host)))
	defer span.End()
	begin := time.Now()
	response, err := o.next.RoundTrip(request.WithContext(ctx))
	status := ""
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
	} else {
		status = strconv.Itoa(response.StatusCode)
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	o.observer.duration.WithLabelValues(o.backend, api, operation, status).Observe(time.Since(begin).Seconds())
	return response, err
}

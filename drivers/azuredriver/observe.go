// SPDX-License-Identifier: Apache-2.0

package azuredriver

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

// instrumentation is the name of this package's spans.
const instrumentation = "github.com/cooper-cosi/cooper/drivers/azuredriver"

// observer counts, times and traces the calls to Azure. One call of the SDK that is tried several
// times counts several times.
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
		return nil, fmt.Errorf("register the metrics of the Azure driver: %w", err)
	}
	return made, nil
}

// wrap observes the calls that go through next.
func (o *observer) wrap(account string, next http.RoundTripper) http.RoundTripper {
	return observed{observer: o, account: account, next: next}
}

type observed struct {
	observer *observer
	account  string
	next     http.RoundTripper
}

const blobAPI = "Blob"

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(request *http.Request) (*http.Response, error) {
	operation := operationOf(request)
	ctx, span := o.observer.tracer.Start(request.Context(), blobAPI+"."+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("cosi.backend", o.account), attribute.String("server.address", request.URL.Host)))
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
	o.observer.duration.WithLabelValues(o.account, blobAPI, operation, status).Observe(time.Since(begin).Seconds())
	return response, err
}

// operations are the calls that this driver makes, as the API reference names them, by method,
// restype and comp.
var operations = map[string]string{
	"PUT container ":                 "CreateContainer",
	"GET container ":                 "GetContainerProperties",
	"HEAD container ":                "GetContainerProperties",
	"DELETE container ":              "DeleteContainer",
	"GET container acl":              "GetContainerACL",
	"PUT container acl":              "SetContainerACL",
	"PUT container lease":            "LeaseContainer",
	"GET container list":             "ListBlobs",
	"GET  list":                      "ListContainers",
	"POST service userdelegationkey": "GetUserDelegationKey",
}

func operationOf(request *http.Request) string {
	query := request.URL.Query()
	if known, ok := operations[request.Method+" "+query.Get("restype")+" "+query.Get("comp")]; ok {
		return known
	}
	return "Other"
}

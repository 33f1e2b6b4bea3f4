// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// TestCallsToBackendsAreCountedAndTraced makes one call that gets a response and one that gets none.
func TestCallsToBackendsAreCountedAndTraced(t *testing.T) {
	t.Parallel()
	registry, spans := prometheus.NewRegistry(), tracetest.NewSpanRecorder()
	calls, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{
		DriverName: "driver.example.com", Registerer: registry,
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		Name:           func(*http.Request) (string, string) { return "S3", "PutObject" },
	})
	mustSucceed(t, err)
	server := httptest.NewServer(http.NotFoundHandler())
	client := &http.Client{Transport: calls.Wrap("east", server.Client().Transport)}
	get := func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		mustSucceed(t, err)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return errors.Join(response.Body.Close())
	}
	mustSucceed(t, get())
	server.Close()
	if err := get(); err == nil {
		t.Fatal("a closed server responded")
	}
	counted, err := testutil.GatherAndCount(registry, "cosi_driver_backend_call_duration_seconds")
	if err != nil || counted != 2 {
		t.Errorf("%d series, %v; want one with the status 404 and one without a status", counted, err)
	}
	ended := spans.Ended()
	if len(ended) != 2 || ended[0].Name() != "S3.PutObject" || ended[1].Status().Code != codes.Error {
		t.Errorf("spans: %v", ended)
	}
	if got, want := exemplars(t, registry), ended[0].SpanContext().TraceID().String(); !slices.Contains(got, want) {
		t.Errorf("the trace %s of a call is not among the exemplars %q", want, got)
	}
	if _, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{DriverName: "driver.example.com", Registerer: registry}); err == nil || !strings.Contains(err.Error(), "register the metric") {
		t.Errorf("registered twice: %v", err)
	}
}

// exemplars are the traces that histograms name.
func exemplars(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	mustSucceed(t, err)
	var found []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, bucket := range m.GetHistogram().GetBucket() {
				for _, label := range bucket.GetExemplar().GetLabel() {
					found = append(found, label.GetValue())
				}
			}
		}
	}
	return found
}

// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/freeport"
)

// checkedDriver can tell whether its backend responds.
type checkedDriver struct {
	driverkit.Driver

	failure error
}

func (checkedDriver) Info() driverkit.Info {
	return driverkit.Info{Name: "checked.example.com", Protocols: []driverkit.Protocol{driverkit.S3}}
}

func (c *checkedDriver) CheckBackend(context.Context) error {
	return c.failure
}

// doubleDriver has two backends, of which one responds.
type doubleDriver struct{ checkedDriver }

func (doubleDriver) CheckBackends(context.Context) map[string]error {
	return map[string]error{"main": nil, "lab": errors.New("connection refused")}
}

// TestHealthOfSeveralBackends reports on each, and about all together.
func TestHealthOfSeveralBackends(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	client := drivertest.Serve(t, &doubleDriver{}, driverkit.Options{Registry: registry})
	client.AwaitBackends(t)
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		driverkit.BackendService:           healthpb.HealthCheckResponse_NOT_SERVING,
		driverkit.ServiceOfBackend("main"): healthpb.HealthCheckResponse_SERVING,
		driverkit.ServiceOfBackend("lab"):  healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		answer, err := healthpb.NewHealthClient(client.Conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || answer.GetStatus() != want {
			t.Errorf("%s: %v (%v), want %v", service, answer.GetStatus(), err, want)
		}
	}
	want := `
# HELP cosi_driver_backend_up 1 if the backend responded to the last check, 0 otherwise, by backend; the label is empty if the driver has only one backend.
# TYPE cosi_driver_backend_up gauge
cosi_driver_backend_up{backend="lab",driver_name="checked.example.com"} 0
cosi_driver_backend_up{backend="main",driver_name="checked.example.com"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cosi_driver_backend_up"); err != nil {
		t.Error(err)
	}
}

func TestHealthOfTheBackend(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		failure error
		want    healthpb.HealthCheckResponse_ServingStatus
	}{
		"a backend that responds":         {nil, healthpb.HealthCheckResponse_SERVING},
		"a backend that does not respond": {errors.New("connection refused"), healthpb.HealthCheckResponse_NOT_SERVING},
		"a backend with a warning":        {driverkit.Warning("it forgets"), healthpb.HealthCheckResponse_SERVING},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := drivertest.Serve(t, &checkedDriver{failure: test.failure}, driverkit.Options{})
			health := healthpb.NewHealthClient(client.Conn)
			own, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{})
			if err != nil || own.GetStatus() != healthpb.HealthCheckResponse_SERVING {
				t.Errorf("the driver's own health is %v, %v", own.GetStatus(), err)
			}
			client.AwaitBackends(t)
			answer, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: driverkit.BackendService})
			if err != nil || answer.GetStatus() != test.want {
				t.Errorf("the backend's health is %v (%v), want %v", answer.GetStatus(), err, test.want)
			}
		})
	}
}

// TestWarnings has a backend that responds with a warning, which must be logged.
func TestWarnings(t *testing.T) {
	t.Parallel()
	var log buffer
	client := drivertest.Serve(t, &checkedDriver{failure: driverkit.Warning("it forgets")}, driverkit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	client.AwaitBackends(t)
	if text := log.String(); !strings.Contains(text, "it forgets") || strings.Contains(text, "does not respond") {
		t.Errorf("the log is:\n%s", text)
	}
}

// TestHealthPages asks over HTTP, as a probe does.
func TestHealthPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		driver driverkit.Driver
		code   int
		body   string
	}{
		"a backend that responds":            {&checkedDriver{}, http.StatusOK, "ok\n"},
		"a backend that does not respond":    {&checkedDriver{failure: errors.New("refused")}, http.StatusServiceUnavailable, "the backend does not respond; see the log for the reason\n"},
		"a driver that cannot ask a backend": {&stub{}, http.StatusOK, "ok\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeport.ForTest(t).Address()
			client := drivertest.Serve(t, test.driver, driverkit.Options{HealthAddress: address})
			client.AwaitBackends(t)
			if code, body := get(t, "http://"+address+"/healthz"); code != http.StatusOK || body != "ok\n" {
				t.Errorf("/healthz: want 200 and ok, got %d and %q", code, body)
			}
			if code, body := get(t, "http://"+address+"/readyz"); code != test.code || body != test.body {
				t.Errorf("/readyz: want %d and %q, got %d and %q", test.code, test.body, code, body)
			}
		})
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	mustSucceed(t, err)
	defer listener.Close()
	busy := listener.Addr().String()
	for name, options := range map[string]driverkit.Options{
		"listen for metrics over HTTP: ": {MetricsAddress: busy},
		"listen for health over HTTP: ":  {HealthAddress: busy, MetricsAddress: "127.0.0.1:0"},
	} {
		options.Endpoint = drivertest.Endpoint(t)
		if err := serveError(t, &stub{}, options); err == nil || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), busy) {
			t.Errorf("want an error of %q that names %s, got %v", name, busy, err)
		}
	}
}

func get(t *testing.T, url string, accept ...string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	mustSucceed(t, err)
	request.Header["Accept"] = accept
	response, err := http.DefaultClient.Do(request)
	mustSucceed(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	mustSucceed(t, err)
	return response.StatusCode, string(text)
}

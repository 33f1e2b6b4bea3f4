// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/freeport"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestSecondCallForAnIDIsAborted(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 3), make(chan struct{})
	client := drivertest.Serve(t, &stub{remove: func(context.Context, driverkit.DeleteBucketRequest) error {
		entered <- struct{}{}
		<-release
		return nil
	}}, driverkit.Options{})
	first := make(chan error, 2)
	remove := func(id string) {
		_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: id})
		first <- err
	}
	go remove("one")
	<-entered
	_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "one"})
	wantStatus(t, err, codes.Aborted, "another call for bucket one is still running")
	go remove("other")
	<-entered
	close(release)
	for range 2 {
		if err := <-first; err != nil {
			t.Error(err)
		}
	}
	if _, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "one"}); err != nil {
		t.Errorf("the ID is still locked: %v", err)
	}
}

func TestCallsHaveADeadline(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{remove: func(ctx context.Context, _ driverkit.DeleteBucketRequest) error {
		<-ctx.Done()
		return fmt.Errorf("backend: %w", ctx.Err())
	}}, driverkit.Options{CallTimeout: time.Millisecond})
	_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "b"})
	wantStatus(t, err, codes.DeadlineExceeded, "the call did not finish within its deadline; a repeated call continues the work")
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	var log buffer
	client := drivertest.Serve(t, &stub{}, driverkit.Options{
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	answer, err := client.DriverGrantBucketAccess(t.Context(), grantRequest(nil))
	mustSucceed(t, err)
	if got := answer.GetCredentials().GetS3().GetAccessSecretKey(); got != "canary-value" {
		t.Errorf("the response holds %q", got)
	}
	if got := log.String(); strings.Contains(got, "canary-value") || !strings.Contains(got, "[redacted]") {
		t.Errorf("the log: %s", got)
	}
}

func TestHealthMetricsAndStop(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	address := freeport.ForTest(t).Address()
	endpoint := drivertest.Endpoint(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	driver := &stub{remove: func(context.Context, driverkit.DeleteBucketRequest) error {
		close(entered)
		<-release
		return nil
	}}
	go func() {
		served <- driverkit.Serve(ctx, driver, driverkit.Options{
			Endpoint: endpoint, Registry: registry, MetricsAddress: address, Logger: slog.New(slog.DiscardHandler),
			TracerProvider: sdktrace.NewTracerProvider(),
		})
	}()
	client := drivertest.Dial(t, endpoint)
	health, err := healthpb.NewHealthClient(client.Conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	_, err = client.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{})
	wantStatus(t, err, codes.InvalidArgument, "bucket_id is required")
	want := `cosi_driver_rpc_duration_seconds_count{driver_name="stub.example.com",grpc_status_code="InvalidArgument",` +
		`method="/sigs.k8s.io.cosi.v1alpha2.Provisioner/DriverGetBucket"} 1`
	if _, got := get(t, "http://"+address+"/metrics"); !strings.Contains(got, want) {
		t.Errorf("the metrics lack %s:\n%s", want, got)
	}

	if _, got := get(t, "http://"+address+"/metrics", "application/openmetrics-text;version=1.0.0"); !strings.Contains(got, ` # {trace_id="`) {
		t.Errorf("no metric names a trace:\n%s", got)
	}

	running := make(chan error, 1)
	go func() {
		_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "b"})
		running <- err
	}()
	<-entered
	cancel()
	close(release)
	if err := <-running; err != nil {
		t.Errorf("the running call was cut off: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(strings.TrimPrefix(endpoint, "unix://")))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	endpoint := drivertest.Endpoint(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	entered := make(chan struct{})
	driver := &stub{remove: func(ctx context.Context, _ driverkit.DeleteBucketRequest) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}}
	go func() {
		served <- driverkit.Serve(ctx, driver, driverkit.Options{
			Endpoint: endpoint, StopTimeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
	}()
	running := make(chan error, 1)
	go func() {
		_, err := drivertest.Dial(t, endpoint).DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "b"})
		running <- err
	}()
	<-entered
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := <-running; err == nil {
		t.Error("the hung call succeeded")
	}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

func TestACallBelongsToTheTraceOfItsCaller(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	client := drivertest.Serve(t, &stub{remove: func(context.Context, driverkit.DeleteBucketRequest) error { return nil }},
		driverkit.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+caller+"-00f067aa0ba902b7-01")
	if _, err := client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "b"}); err != nil {
		t.Error(err)
	}
	for _, s := range spans.Started() {
		if strings.HasSuffix(s.Name(), "DriverDeleteBucket") && s.SpanContext().TraceID().String() == caller {
			return
		}
	}
	t.Errorf("no span of the call is in the trace of the caller: %v", spans.Started())
}

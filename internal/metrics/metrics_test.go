// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cooper-cosi/cooper/internal/metrics"
)

func TestControllerMetricsOfKEP(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.NewController(registry)
	if err != nil {
		t.Fatal(err)
	}
	again, err := metrics.NewController(registry)
	if err != nil {
		t.Fatalf("a second component in one registry: %v", err)
	}
	m.Finished(metrics.Operation{Driver: "s3.example.com", Kind: metrics.KindBucketClaim, Name: metrics.OperationCreate}, 3*time.Second)
	again.Reconciled(metrics.Operation{Kind: metrics.KindBucketClaim, Name: metrics.OperationDelete}, metrics.StatusSucceeded)
	want := `
# HELP cosi_operation_count Number of reconciles that completed an operation (Succeeded, Canceled) or failed (Unknown).
# TYPE cosi_operation_count counter
cosi_operation_count{driver_name="unknown",operation="Delete",resource_kind="BucketClaim",status="Succeeded"} 1
# HELP cosi_operation_total_seconds End-to-end duration of a COSI operation, from the creation or deletion timestamp to its end.
# TYPE cosi_operation_total_seconds histogram
`
	for _, le := range []string{"0.1", "0.25", "0.5", "1", "2.5"} {
		want += `cosi_operation_total_seconds_bucket{driver_name="s3.example.com",operation="Create",resource_kind="BucketClaim",le="` + le + `"} 0` + "\n"
	}
	for _, le := range []string{"5", "10", "15", "30", "60", "120", "300", "600", "+Inf"} {
		want += `cosi_operation_total_seconds_bucket{driver_name="s3.example.com",operation="Create",resource_kind="BucketClaim",le="` + le + `"} 1` + "\n"
	}
	want += `cosi_operation_total_seconds_sum{driver_name="s3.example.com",operation="Create",resource_kind="BucketClaim"} 3
cosi_operation_total_seconds_count{driver_name="s3.example.com",operation="Create",resource_kind="BucketClaim"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestSidecarCountsOnlyFailuresAsErrors(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.NewSidecar(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.Called("s3.example.com", "DriverCreateBucket", "OK", time.Second)
	m.Called("s3.example.com", "DriverCreateBucket", "Unavailable", time.Second)
	want := `
# HELP cosi_sidecar_operation_errors_total Number of RPCs to the driver that did not return OK.
# TYPE cosi_sidecar_operation_errors_total counter
cosi_sidecar_operation_errors_total{driver_name="s3.example.com",method_name="DriverCreateBucket"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cosi_sidecar_operation_errors_total"); err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(registry, "cosi_sidecar_operation_duration_seconds"); got != 2 {
		t.Errorf("durations by code: want 2 series, got %d", got)
	}
}

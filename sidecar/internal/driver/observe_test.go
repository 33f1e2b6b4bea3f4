// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/metrics"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// Each combination of labels is kept in memory forever. A driver that returns another name or code each time must not
// create new combinations.
func TestDriverDoesNotMakeMetricsWithoutEnd(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.NewSidecar(registry)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	measure := driver.Measure(m, func() string { return name })
	for i := range uint32(100) {
		reply := &cosi.DriverGetInfoResponse{
			Name: fmt.Sprintf("driver-%d.example.com", i), SupportedProtocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}},
		}
		for _, err := range []error{nil, status.Error(codes.Code(1000+i), "new")} {
			invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return err }
			_ = measure(t.Context(), cosi.Identity_DriverGetInfo_FullMethodName, &cosi.DriverGetInfoRequest{}, reply, nil, invoke)
		}
		name = "driver-0.example.com"
	}
	if n := testutil.CollectAndCount(registry, "cosi_sidecar_operation_duration_seconds"); n > 3 {
		t.Errorf("want a metric for the driver's first name with and without success, and one before it was known, got %d", n)
	}
}

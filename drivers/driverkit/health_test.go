// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"errors"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
)

// checkedDriver can tell whether its backend answers.
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

func TestHealthOfTheBackend(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		failure error
		want    healthpb.HealthCheckResponse_ServingStatus
	}{
		"a backend that answers":         {nil, healthpb.HealthCheckResponse_SERVING},
		"a backend that does not answer": {errors.New("connection refused"), healthpb.HealthCheckResponse_NOT_SERVING},
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
			watch, err := health.Watch(t.Context(), &healthpb.HealthCheckRequest{Service: driverkit.BackendService})
			if err != nil {
				t.Fatal(err)
			}
			for {
				answer, err := watch.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if answer.GetStatus() == test.want {
					return
				}
				if status := answer.GetStatus(); status == healthpb.HealthCheckResponse_SERVING || status == healthpb.HealthCheckResponse_NOT_SERVING {
					t.Fatalf("the backend's health is %v, want %v", status, test.want)
				}
			}
		})
	}
}

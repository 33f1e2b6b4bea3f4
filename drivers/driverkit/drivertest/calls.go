// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// NewBucket creates a bucket with a new name as COSI does, in both phases, and returns its ID.
func (c *Client) NewBucket(t testing.TB, parameters map[string]string) string {
	t.Helper()
	generated, err := c.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-" + uuid.NewString(), Parameters: parameters})
	if err != nil {
		t.Fatalf("generate bucket ID: %v", err)
	}
	if err := c.Create(t, generated.GetBucketId(), parameters); err != nil {
		t.Fatalf("create bucket %s: %v", generated.GetBucketId(), err)
	}
	return generated.GetBucketId()
}

// Create creates the bucket.
func (c *Client) Create(t testing.TB, id string, parameters map[string]string) error {
	t.Helper()
	_, err := c.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: parameters})
	return err
}

// Delete deletes the bucket.
func (c *Client) Delete(t testing.TB, id string, parameters map[string]string) error {
	t.Helper()
	_, err := c.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: id, Parameters: parameters})
	return err
}

// MustGrant grants the access and returns the response; an error ends the test.
func (c *Client) MustGrant(t testing.TB, request *cosi.DriverGrantBucketAccessRequest) *cosi.DriverGrantBucketAccessResponse {
	t.Helper()
	granted, err := c.DriverGrantBucketAccess(t.Context(), request)
	if err != nil {
		t.Fatalf("grant %s: %v", request.GetAccountId(), err)
	}
	return granted
}

// Revoke revokes the access that the request granted.
func (c *Client) Revoke(t testing.TB, granted *cosi.DriverGrantBucketAccessRequest) error {
	t.Helper()
	_, err := c.DriverRevokeBucketAccess(t.Context(), RevokeRequest(granted))
	return err
}

// NewAccount returns an account ID of the form that COSI proposes.
func NewAccount() string { return "ba-" + uuid.NewString() }

// WantCode ends the test unless err has this gRPC code, and fails it unless the error text contains all texts.
func WantCode(t testing.TB, err error, code codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("error is %v, want code %v", err, code)
	}
	for _, text := range texts {
		if err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not contain %q", err, text)
		}
	}
}

// AwaitBackends waits for the driver's first backend check, which runs at startup, in parallel with calls. It returns
// immediately if the driver cannot check its backends.
func (c *Client) AwaitBackends(t testing.TB) {
	t.Helper()
	watch, err := healthpb.NewHealthClient(c.Conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: driverkit.BackendService})
	if err != nil {
		t.Fatal(err)
	}
	for {
		answer, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if answer.GetStatus() != healthpb.HealthCheckResponse_UNKNOWN {
			return
		}
	}
}

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

// NewBucket makes a bucket of a new name in the way of COSI, phase 1 and then phase 2, and returns its ID.
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

// Create makes the bucket.
func (c *Client) Create(t testing.TB, id string, parameters map[string]string) error {
	t.Helper()
	_, err := c.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: parameters})
	return err
}

// Delete removes the bucket.
func (c *Client) Delete(t testing.TB, id string, parameters map[string]string) error {
	t.Helper()
	_, err := c.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: id, Parameters: parameters})
	return err
}

// MustGrant returns what is granted; a request that is refused ends the test.
func (c *Client) MustGrant(t testing.TB, request *cosi.DriverGrantBucketAccessRequest) *cosi.DriverGrantBucketAccessResponse {
	t.Helper()
	granted, err := c.DriverGrantBucketAccess(t.Context(), request)
	if err != nil {
		t.Fatalf("grant %s: %v", request.GetAccountId(), err)
	}
	return granted
}

// Revoke takes back what was granted by the request.
func (c *Client) Revoke(t testing.TB, granted *cosi.DriverGrantBucketAccessRequest) error {
	t.Helper()
	_, err := c.DriverRevokeBucketAccess(t.Context(), RevokeRequest(granted))
	return err
}

// NewAccount returns an account ID as COSI proposes it.
func NewAccount() string { return "ba-" + uuid.NewString() }

// WantCode ends the test unless the error has this gRPC code, and fails it unless its text says all of this.
func WantCode(t testing.TB, err error, code codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("error is %v, want code %v", err, code)
	}
	for _, text := range texts {
		if err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// AwaitBackends returns when the driver has asked its backends whether they respond, which it does when it starts, beside
// the calls that it serves; at once if it cannot ask them.
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

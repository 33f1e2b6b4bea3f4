// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/freeport"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// TestAnEmulatorWithoutAccounts runs the tests that fake-gcs-server supports.
func TestAnEmulatorWithoutAccounts(t *testing.T) {
	t.Parallel()
	endpoint := startEmulator(t)
	driver, err := gcsdriver.New(gcsdriver.Options{
		Config:      gcsdriver.Config{Backends: map[string]gcsdriver.BackendConfig{"main": {Project: "example", Endpoint: endpoint, WithoutAccounts: true}}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	client := drivertest.Serve(t, driver, driverkit.Options{})
	protocol := &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_GCS}
	id := "bc-" + uuid.NewString()
	for range 2 {
		if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Protocols: []*cosi.ObjectProtocol{protocol}}); err != nil {
			t.Fatalf("create: %v", err)
		}
	}
	drivertest.WantCode(t, client.Create(t, "bc-"+uuid.NewString(), map[string]string{"quota": "1Mi"}), codes.InvalidArgument, "quota")
	mode := &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}
	_, err = client.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: "ba-" + uuid.NewString(), Protocol: protocol, AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets: []*cosi.AccessedBucket{{BucketId: id, ObjectDataAccessMode: mode}},
	})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "without accounts") {
		t.Errorf("an access: want InvalidArgument with the reason, got %v", err)
	}
	for range 2 {
		if _, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: id}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	storestest.Row{
		Store: "fake-gcs-server", Version: stores.FakeGCSServer().Version, Driver: "GCS", Accounts: "none: accesses are rejected", Modes: "none",
		SeveralBuckets: "no", Rotation: "no", Quotas: "no", ServiceAccounts: "no", TLS: "no", Suite: "not applicable without accounts",
	}.Current(t)
}

// startEmulator starts fake-gcs-server and returns its endpoint.
func startEmulator(t *testing.T) string {
	t.Helper()
	program, err := stores.FakeGCSServer().Find()
	if err != nil {
		storestest.Missing(t, err)
	}
	address := freeport.ForTest(t).Address()
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error")
	mustSucceed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited already
		_ = cmd.Wait()         // killed: always an error
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/_internal/healthcheck", http.NoBody)
		mustSucceed(t, err)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close() // only the response counts
			return "http://" + address
		}
		select {
		case <-ctx.Done():
			t.Fatalf("fake-gcs-server does not respond: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

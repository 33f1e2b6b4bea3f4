// SPDX-License-Identifier: Apache-2.0

// Package drivertest serves a driver in tests, over a real socket and real gRPC. It can simulate a crash of the
// driver at every call to the backend. It does not check that the driver conforms to COSI; use the conformance suite
// for that.
package drivertest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Client calls a driver that is being served.
type Client struct {
	cosi.IdentityClient
	cosi.ProvisionerClient
	// Endpoint is the driver's address.
	Endpoint string
	// Conn is the connection, for use with other services.
	Conn *grpc.ClientConn
}

// Serve serves driver until the test ends and returns a client whose calls wait for the socket. Defaults for unset
// options: an unused socket and a logger that discards its output.
func Serve(t testing.TB, driver driverkit.Driver, options driverkit.Options) *Client {
	t.Helper()
	if options.Endpoint == "" {
		options.Endpoint = Endpoint(t)
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- driverkit.Serve(ctx, driver, options) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving the driver: %v", err)
		}
	})
	return Dial(t, options.Endpoint)
}

// Endpoint returns a socket address in a new directory with a short path.
func Endpoint(t testing.TB) string {
	t.Helper()
	return "unix://" + filepath.Join(processtest.ShortTempDir(t), "driver.sock")
}

// Dial returns a client for a driver's endpoint. The client is closed when the test ends.
func Dial(t testing.TB, endpoint string) *Client {
	t.Helper()
	connection, err := grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// The socket appears within milliseconds, but gRPC would wait one second before it retries.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond},
			MinConnectTimeout: 20 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Client{
		IdentityClient: cosi.NewIdentityClient(connection), ProvisionerClient: cosi.NewProvisionerClient(connection),
		Endpoint: endpoint, Conn: connection,
	}
}

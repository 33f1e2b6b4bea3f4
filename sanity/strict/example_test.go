// SPDX-License-Identifier: Apache-2.0

package strict_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/strict"
)

// Detects a sidecar that invents a bucket ID.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "strict")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "cosi.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	checker := strict.New(strict.Options{})
	server := memdriver.New(memdriver.Options{ServerOptions: checker.ServerOptions()}).NewServer()
	defer server.Stop()
	go func() { _ = server.Serve(listener) }()

	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	sidecar := cosi.NewProvisionerClient(connection)
	_, _ = cosi.NewIdentityClient(connection).DriverGetInfo(ctx, &cosi.DriverGetInfoRequest{})
	_, _ = sidecar.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "made-up"})

	for _, violation := range checker.Violations() {
		fmt.Println(violation.Rule)
	}
	// Output:
	// phase 2 uses an ID that phase 1 returned
}

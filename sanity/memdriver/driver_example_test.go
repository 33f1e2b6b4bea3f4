// SPDX-License-Identifier: Apache-2.0

package memdriver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// Serves a driver whose first response is lost although the bucket was created.
func ExampleDriver() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "driver")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	driver := memdriver.New(memdriver.Options{})
	endpoint := "unix://" + filepath.Join(dir, "cosi.sock")
	server, err := driver.Start(endpoint)
	if err != nil {
		panic(err)
	}
	defer server.Stop()
	driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, AfterEffect: true})

	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	client := cosi.NewProvisionerClient(connection)
	for range 2 {
		_, _ = client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "photos"})
	}

	for _, call := range driver.Calls() {
		fmt.Println(call.RPC, call.ID, call.Code)
	}
	fmt.Println("buckets:", len(driver.Inventory().Buckets))
	// Output:
	// DriverCreateBucket photos Unavailable
	// DriverCreateBucket photos OK
	// buckets: 1
}

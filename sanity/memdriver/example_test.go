// SPDX-License-Identifier: Apache-2.0

package memdriver_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// Calls a driver with a defect: it forgets a bucket's parameters and accepts another request for the bucket.
// sanity.ExampleRun runs the suite against such a driver.
func ExampleLauncher() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	endpoint := "unix://" + filepath.Join(dir, "cosi.sock")

	options := memdriver.Narrow()
	options.Defects = memdriver.With(memdriver.NeverComparesParameters)
	launcher := memdriver.Launcher{Driver: options}
	driver, err := launcher.Launch(ctx, sanity.Launch{Environment: []string{"COSI_ENDPOINT=" + endpoint}, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		panic(err)
	}
	defer driver.Kill()
	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer connection.Close()

	client := cosi.NewProvisionerClient(connection)
	for _, tier := range []string{"hot", "cold"} {
		_, err := client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "photos", Parameters: map[string]string{"tier": tier}}, grpc.WaitForReady(true))
		fmt.Println(tier, err)
	}
	// Output:
	// hot <nil>
	// cold <nil>
}

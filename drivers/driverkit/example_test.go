// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// shelf is a driver whose buckets are boxes on a shelf with room for one box.
type shelf struct{ box string }

func (s *shelf) Info() driverkit.Info {
	return driverkit.Info{
		Name: "shelf.example.com", Protocols: []driverkit.Protocol{driverkit.S3},
		BucketParameters: driverkit.Parameters{"color": {Description: "Color of the box.", Check: driverkit.OneOf("red", "blue")}},
	}
}

func (s *shelf) CreateBucket(_ context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	if s.box != "" && s.box != request.BucketID {
		return driverkit.BucketInfo{}, driverkit.ResourceExhausted("the shelf is full; remove box %q", s.box)
	}
	s.box = request.BucketID
	return driverkit.BucketInfo{S3: &driverkit.S3Bucket{Name: s.box}}, nil
}

func (s *shelf) GetBucket(_ context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	if s.box != request.BucketID {
		return driverkit.BucketInfo{}, driverkit.NotFound("there is no box %q", request.BucketID)
	}
	return driverkit.BucketInfo{S3: &driverkit.S3Bucket{Name: s.box}}, nil
}

func (s *shelf) DeleteBucket(_ context.Context, request driverkit.DeleteBucketRequest) error {
	if s.box == request.BucketID {
		s.box = ""
	}
	return nil
}

func (s *shelf) GrantAccess(context.Context, driverkit.GrantAccessRequest) (driverkit.Access, error) {
	return driverkit.Access{}, driverkit.Unimplemented("a shelf has no accounts")
}

func (s *shelf) RevokeAccess(context.Context, driverkit.RevokeAccessRequest) error { return nil }

// Serves a driver on a socket; the kit checks each request against Info. A program calls Main, which takes the socket
// from COSI_ENDPOINT and stops on a signal.
func ExampleServe() {
	directory, err := os.MkdirTemp("", "shelf")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)
	endpoint := "unix://" + filepath.Join(directory, "driver.sock")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- driverkit.Serve(ctx, &shelf{}, driverkit.Options{Endpoint: endpoint, Logger: slog.New(slog.DiscardHandler)})
	}()

	connection, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		panic(err)
	}
	client := cosi.NewProvisionerClient(connection)
	for _, request := range []*cosi.DriverCreateBucketRequest{
		{BucketId: "photos", Parameters: map[string]string{"color": "red"}},
		{BucketId: "photos", Parameters: map[string]string{"color": "green"}},
		{BucketId: "music"},
	} {
		if _, err := client.DriverCreateBucket(ctx, request); err != nil {
			fmt.Println(status.Code(err), status.Convert(err).Message())
		} else {
			fmt.Println("made", request.GetBucketId())
		}
	}
	_ = connection.Close()
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// made photos
	// InvalidArgument parameter color is "green", but must be one of: red, blue
	// ResourceExhausted the shelf is full; remove box "photos"
	// ended: <nil>
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// TestDeletionInSeveralCalls ends each call when it has deleted one page of objects. What a call has
// deleted, the next one need not.
func TestDeletionInSeveralCalls(t *testing.T) {
	t.Parallel()
	const objects, page = 2100, 1000
	on, _ := startFake(t, s3fake.Options{})
	var timeUp context.CancelFunc
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(),
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return transportFunc(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if request.Method == http.MethodPost && request.URL.Query().Has("delete") {
					timeUp()
				}
				return response, err
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket := "bc-1"
	if _, err := driver.CreateBucket(t.Context(), driverkit.CreateBucketRequest{BucketID: bucket}); err != nil {
		t.Fatal(err)
	}
	root := s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := part; i < objects; i += 4 {
				if err := putObject(t, root, bucket, fmt.Sprint("key", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	calls := 0
	for left := objects; left > 0; calls++ {
		var ctx context.Context
		ctx, timeUp = context.WithCancel(t.Context())
		err := driver.DeleteBucket(ctx, driverkit.DeleteBucketRequest{BucketID: bucket, Parameters: driverkit.Values{"deleteNonEmpty": "true"}})
		timeUp()
		if err == nil {
			t.Fatal("a call whose time was up succeeded")
		}
		found := 0
		for pages := s3.NewListObjectsV2Paginator(root, &s3.ListObjectsV2Input{Bucket: &bucket}); pages.HasMorePages(); {
			listed, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found += len(listed.Contents)
		}
		if want := max(0, left-page); found != want {
			t.Fatalf("call %d left %d of %d objects, want %d", calls+1, found, left, want)
		}
		left = found
	}
	timeUp = func() {}
	mustSucceed(t, driver.DeleteBucket(t.Context(), driverkit.DeleteBucketRequest{BucketID: bucket}))
	t.Logf("%d objects were deleted in %d calls", objects, calls)
}

// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestConcurrentCompletions completes each upload several times at once. S3 returns the same object to all of them, as to a
// client that repeats a completion whose response was lost. The first completion reads the clock for its event while the
// others wait for it, and gives them time to get there.
func TestConcurrentCompletions(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{OnEvent: func(s3fake.Event) {}, Now: func() time.Time {
		for range 200 {
			runtime.Gosched()
		}
		return time.Now()
	}})
	f.bucket(t, "docs")
	client, bucket, ctx := f.s3(f.Root()), aws.String("docs"), t.Context()
	for i := range 20 {
		key := aws.String("k" + strconv.Itoa(i))
		upload, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
		wantNoError(t, err)
		part, err := client.UploadPart(ctx, &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(1)})
		wantNoError(t, err)
		var completions errgroup.Group
		for range 32 {
			completions.Go(func() error {
				_, err := client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
					Bucket: bucket, Key: key, UploadId: upload.UploadId,
					MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}}},
				})
				return err
			})
		}
		if err := completions.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

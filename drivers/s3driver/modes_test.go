// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	anyMode   = cosi.AccessMode_ANY
	readOnly  = cosi.AccessMode_READ_ONLY
	writeOnly = cosi.AccessMode_WRITE_ONLY
	both      = cosi.AccessMode_READ_WRITE
)

// attempt is something that a workload tries.
type attempt struct {
	name string
	// allowed reports whether a mode allows it.
	allowed func(asked drivertest.Modes) bool
	try     func(t *testing.T, client *s3.Client, bucket string) error
}

func reads(m cosi.AccessMode_Mode) bool  { return m == readOnly || m == both }
func writes(m cosi.AccessMode_Mode) bool { return m == writeOnly || m == both }
func never(drivertest.Modes) bool        { return false }

// attempts come in an order in which each finds what it needs: "given" was put by root.
func attempts() []attempt {
	readsData := func(m drivertest.Modes) bool { return reads(m.Data) }
	writesData := func(m drivertest.Modes) bool { return writes(m.Data) }
	readsTags := func(m drivertest.Modes) bool { return reads(m.ObjectMetadata) }
	writesTags := func(m drivertest.Modes) bool { return writes(m.ObjectMetadata) }
	readsBucket := func(m drivertest.Modes) bool { return reads(m.BucketMetadata) }
	given, made := aws.String("given"), aws.String("made")
	tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	return []attempt{
		{"get an object", readsData, func(t *testing.T, c *s3.Client, b string) error { t.Helper(); return getObject(t, c, b, "given") }},
		{"head an object", readsData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b, Key: given})
			return err
		}},
		{"list objects", readsData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b})
			return err
		}},
		{"put an object", writesData, func(t *testing.T, c *s3.Client, b string) error { t.Helper(); return putObject(t, c, b, "made") }},
		{"begin an upload", writesData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &b, Key: made})
			return err
		}},
		{"delete an object", writesData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b, Key: made})
			return err
		}},
		{"read tags of an object", readsTags, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: &b, Key: given})
			return err
		}},
		{"write tags of an object", writesTags, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: &b, Key: given, Tagging: tags})
			return err
		}},
		{"read the bucket's tags", readsBucket, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &b})
			return err
		}},
		{"read the bucket's versioning", readsBucket, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &b})
			return err
		}},
		{"write the bucket's tags", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: &b, Tagging: tags})
			return err
		}},
		{"change the bucket's versioning", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket: &b, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
			})
			return err
		}},
		{"change the bucket's policy", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &b, Policy: aws.String(`{"Version":"2012-10-17","Statement":[]}`)})
			return err
		}},
		{"delete the bucket", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &b})
			return err
		}},
		{"make a bucket", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("x" + b)})
			return err
		}},
	}
}

// testModesByTrying grants every combination of modes and tries everything with it.
func testModesByTrying(t *testing.T, on target) {
	asked := []drivertest.Modes{
		{Data: readOnly, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: writeOnly, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: readOnly, ObjectMetadata: readOnly, BucketMetadata: anyMode},
		{Data: writeOnly, ObjectMetadata: writeOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: readOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: writeOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: both, BucketMetadata: anyMode},
		{Data: anyMode, ObjectMetadata: anyMode, BucketMetadata: readOnly},
		{Data: both, ObjectMetadata: both, BucketMetadata: readOnly},
		{Data: readOnly, ObjectMetadata: anyMode, BucketMetadata: readOnly},
	}
	w := newWorld(t, on, worldOptions{})
	other := w.NewBucket(t, nil)
	if err := putObject(t, w.root(), other, "given"); err != nil {
		t.Fatal(err)
	}
	for _, asked := range asked {
		name := fmt.Sprintf("data %v, object metadata %v, bucket metadata %v", asked.Data, asked.ObjectMetadata, asked.BucketMetadata)
		t.Run(name, func(t *testing.T) {
			bucket := w.NewBucket(t, nil)
			if err := putObject(t, w.root(), bucket, "given"); err != nil {
				t.Fatal(err)
			}
			client := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), asked, bucket)))
			for _, attempt := range attempts() {
				code := apiCode(t, attempt.try(t, client, bucket))
				if allowed := attempt.allowed(asked); (code == "") != allowed || !allowed && !isDenial(code) {
					t.Errorf("%s: the response is %q, allowed is %t", attempt.name, code, allowed)
				}
			}
			if code := apiCode(t, getObject(t, client, other, "given")); !isDenial(code) {
				t.Errorf("reading another bucket: the response is %q", code)
			}
			if code := apiCode(t, putObject(t, client, other, "made")); !isDenial(code) {
				t.Errorf("writing to another bucket: the response is %q", code)
			}
		})
	}
}

// isDenial knows the responses with a body and those of HEAD, which have none.
func isDenial(code string) bool {
	return code == "AccessDenied" || code == "Forbidden"
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// modeList are modes that a class disallows.
type modeList = []cosi.AccessMode_Mode

// testDisallowedModes tries operations of an access in categories that it left unset, with a class that disallows
// modes.
func testDisallowedModes(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	all := modeList{readOnly, writeOnly, both}
	for name, limited := range map[string]drivertest.Limited{
		"reading shows the metadata of objects": {
			Asked: drivertest.Modes{Data: readOnly}, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{readOnly, both}}, Refused: true,
		},
		"writing writes the metadata of objects": {
			Asked: drivertest.Modes{Data: both}, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writeOnly, both}}, Refused: true,
		},
		"writing writes metadata, whatever was asked by name": {
			Asked:      drivertest.Modes{Data: both, ObjectMetadata: readOnly},
			Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writeOnly, both}}, Refused: true,
		},
		"either reading or writing is left, and not both": {
			Asked: drivertest.Modes{Data: both}, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{both}}, Refused: true,
		},
		"metadata of objects may be read": {
			Asked: drivertest.Modes{Data: readOnly}, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writeOnly, both}},
		},
		"reading is part of reading and writing, which is left": {
			Asked: drivertest.Modes{Data: readOnly}, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{readOnly, writeOnly}},
		},
		"nothing of the bucket itself": {
			Asked: drivertest.Modes{Data: both}, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
		},
		"nothing of the objects": {
			Asked: drivertest.Modes{BucketMetadata: readOnly}, Disallowed: &cosi.DisallowedAccessModes{ObjectData: all, ObjectMetadata: all},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := w.NewBucket(t, nil)
			mustSucceed(t, putObject(t, w.root(), bucket, "given"))
			w.WantLimited(t, limited, grantRequest(drivertest.NewAccount(), limited.Asked, bucket), func(granted *cosi.DriverGrantBucketAccessResponse) []drivertest.Try {
				return limitedTries(workload(t, granted), bucket)
			})
		})
	}
}

// limitedTries returns the operations of each category, including metadata that is written and read with an object.
func limitedTries(client *s3.Client, bucket string) []drivertest.Try {
	given, value := aws.String("given"), map[string]string{"a": "b"}
	tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	return []drivertest.Try{
		{Name: "get an object", Category: drivertest.ObjectData, Mode: readOnly, Do: func(t *testing.T) error { t.Helper(); return getObject(t, client, bucket, "given") }},
		{Name: "put an object", Category: drivertest.ObjectData, Mode: writeOnly, Do: func(t *testing.T) error { t.Helper(); return putObject(t, client, bucket, "made") }},
		{Name: "read the metadata of an object", Category: drivertest.ObjectMetadata, Mode: readOnly, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: given})
			return err
		}},
		{Name: "write the metadata of an object", Category: drivertest.ObjectMetadata, Mode: writeOnly, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("made"), Metadata: value})
			return err
		}},
		{Name: "write tags of an object", Category: drivertest.ObjectMetadata, Mode: writeOnly, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: &bucket, Key: given, Tagging: tags})
			return err
		}},
		{Name: "read the bucket's versioning", Category: drivertest.BucketMetadata, Mode: readOnly, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket})
			return err
		}},
		{Name: "write the bucket's tags", Category: drivertest.BucketMetadata, Mode: writeOnly, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: &bucket, Tagging: tags})
			return err
		}},
	}
}

// testRepeatedWithDisallowedModes repeats a grant with a newer sidecar that also sends the modes that the class
// disallows.
func testRepeatedWithDisallowedModes(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	first := w.MustGrant(t, request)
	again := w.MustGrant(t, drivertest.WithDisallowed(request, &cosi.DisallowedAccessModes{BucketMetadata: modeList{readOnly, both}}))
	if first.GetCredentials().GetS3().GetAccessKeyId() != again.GetCredentials().GetS3().GetAccessKeyId() {
		t.Error("the repeated grant returned another key")
	}
}

// TestDisallowedModesOfASharedKey requests a key with all permissions.
//
//nolint:paralleltest,tparallel // its rows share a world
func TestDisallowedModesOfASharedKey(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	on.backend.Type, on.backend.Workloads = s3driver.TypeStatic, on.backend.Credentials
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	for name, test := range map[string]struct {
		disallowed *cosi.DisallowedAccessModes
		code       codes.Code
	}{
		"nothing is disallowed":                  {nil, codes.OK},
		"all of it is left":                      {&cosi.DisallowedAccessModes{BucketMetadata: modeList{readOnly, writeOnly}}, codes.OK},
		"a key that can do all can do this, too": {&cosi.DisallowedAccessModes{BucketMetadata: modeList{both, writeOnly}}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
			request.Parameters = map[string]string{"acceptSharedCredential": "true"}
			_, err := w.DriverGrantBucketAccess(t.Context(), drivertest.WithDisallowed(request, test.disallowed))
			drivertest.WantCode(t, err, test.code)
		})
	}
}

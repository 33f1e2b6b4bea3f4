// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"context"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	reading = cosi.AccessMode_READ_ONLY
	writing = cosi.AccessMode_WRITE_ONLY
	both    = cosi.AccessMode_READ_WRITE
)

// modeList are modes that a class disallows.
type modeList = []cosi.AccessMode_Mode

// limits are accesses of classes that disallow modes.
func limits() map[string]drivertest.Limited {
	all := modeList{reading, writing, both}
	return map[string]drivertest.Limited{
		"reading shows the metadata of objects": {
			Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{reading, both}}, Refused: true,
		},
		"writing writes the metadata of objects": {
			Asked: writeOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writing, both}}, Refused: true,
		},
		"writing writes metadata, whatever was asked by name": {
			Asked:      drivertest.Modes{Data: both, ObjectMetadata: reading},
			Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writing, both}}, Refused: true,
		},
		"metadata of objects may be read": {
			Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: modeList{writing, both}},
		},
		"nothing of the bucket itself, reading": {Asked: readOnly, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all}},
		"nothing of the bucket itself, reading and writing": {
			Asked: readWrite, Disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
		},
		"nothing of the objects": {
			Asked: drivertest.Modes{BucketMetadata: reading}, Disallowed: &cosi.DisallowedAccessModes{ObjectData: all, ObjectMetadata: all},
		},
	}
}

// TestDisallowedModes tries operations of an access in categories that it left unset, with a class that disallows
// modes: with the key pair through the API for S3 clients, and with the service account key through Google's API.
func TestDisallowedModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	for name, limited := range limits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := w.NewBucket(t, nil)
			mustSucceed(t, put(t.Context(), w.google.root(t), bucket, "given"))
			request := with(grantRequest(drivertest.NewAccount(), limited.Asked, bucket), "credentials", "both")
			w.WantLimited(t, limited, request, func(granted *cosi.DriverGrantBucketAccessResponse) []drivertest.Try {
				return append(jsonTries(jsonClient(t, w.google, granted), bucket), hmacTries(hmacClient(t, w.google, granted), bucket)...)
			})
		})
	}
}

func jsonTries(client *storage.Client, bucket string) []drivertest.Try {
	given := client.Bucket(bucket).Object("given")
	return []drivertest.Try{
		{Name: "get an object", Category: drivertest.ObjectData, Mode: reading, Do: func(t *testing.T) error { t.Helper(); return get(t.Context(), client, bucket, "given") }},
		{Name: "put an object", Category: drivertest.ObjectData, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			return put(t.Context(), client, bucket, drivertest.NewAccount())
		}},
		{Name: "read the metadata of an object", Category: drivertest.ObjectMetadata, Mode: reading, Do: func(t *testing.T) error {
			t.Helper()
			_, err := given.Attrs(t.Context())
			return err
		}},
		{Name: "change the metadata of an object", Category: drivertest.ObjectMetadata, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			_, err := given.Update(t.Context(), storage.ObjectAttrsToUpdate{Metadata: map[string]string{"a": "b"}})
			return err
		}},
		{Name: "put an object with metadata", Category: drivertest.ObjectMetadata, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			return putWithMetadata(t.Context(), client, bucket, drivertest.NewAccount())
		}},
		{Name: "read the bucket", Category: drivertest.BucketMetadata, Mode: reading, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.Bucket(bucket).Attrs(t.Context())
			return err
		}},
		{Name: "change the bucket", Category: drivertest.BucketMetadata, Mode: writing, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.Bucket(bucket).Update(t.Context(), storage.BucketAttrsToUpdate{VersioningEnabled: true})
			return err
		}},
	}
}

func putWithMetadata(ctx context.Context, client *storage.Client, bucket, key string) error {
	writer := client.Bucket(bucket).Object(key).NewWriter(ctx)
	writer.ChunkSize, writer.Metadata = 0, map[string]string{"a": "b"}
	return writer.Close()
}

func hmacTries(client *minio.Client, bucket string) []drivertest.Try {
	return []drivertest.Try{
		{Name: "get an object by S3", Category: drivertest.ObjectData, Mode: reading, Do: func(t *testing.T) error { t.Helper(); return s3Get(t, client, bucket, "given") }},
		{Name: "list objects by S3", Category: drivertest.ObjectData, Mode: reading, Do: func(t *testing.T) error { t.Helper(); return s3List(t, client, bucket) }},
		{Name: "read the bucket by S3", Category: drivertest.BucketMetadata, Mode: reading, Do: func(t *testing.T) error {
			t.Helper()
			_, err := client.GetBucketVersioning(t.Context(), bucket)
			return err
		}},
	}
}

// TestDisallowedModesOfAServiceAccount looks at the roles that a Kubernetes service account gets.
func TestDisallowedModesOfAServiceAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	for name, limited := range limits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := as(grantRequest(drivertest.NewAccount(), limited.Asked, w.NewBucket(t, nil)), "team", "app")
			w.WantLimited(t, limited, request, func(*cosi.DriverGrantBucketAccessResponse) []drivertest.Try { return nil })
		})
	}
}

// TestRepeatedWithDisallowedModes repeats a grant with a newer sidecar that also sends the modes that the class
// disallows. The credential stays the same, and excess permissions are removed.
func TestRepeatedWithDisallowedModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	first := hmacClient(t, w.google, w.MustGrant(t, request))
	if _, err := first.GetBucketVersioning(t.Context(), bucket); err != nil {
		t.Fatalf("an S3 client cannot ask for its bucket: %v", err)
	}
	w.MustGrant(t, drivertest.WithDisallowed(request, &cosi.DisallowedAccessModes{BucketMetadata: modeList{reading, both}}))
	if err := s3List(t, first, bucket); err != nil {
		t.Errorf("the credential stopped working: %v", err)
	}
	if _, err := first.GetBucketVersioning(t.Context(), bucket); err == nil {
		t.Error("the bucket's metadata can still be read")
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// data is a bucket as used by a workload with an ordinary client of its cloud.
type data interface {
	put(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error)
	remove(ctx context.Context, key string) error
}

// refused reports whether the store rejected the credential, as opposed to another error.
func refused(err error) bool {
	if response, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return response.StatusCode == http.StatusForbidden
	}
	return minio.ToErrorResponse(err).StatusCode == http.StatusForbidden
}

// dataOf creates a client from an access Secret.
func (s *scenario) dataOf(secret map[string]string) data {
	s.t.Helper()
	switch s.cloud.protocol {
	case cosiapi.ProtocolAzure:
		client, err := container.NewClientWithNoCredential(secret["AZURE_STORAGE_SAS_TOKEN"], nil)
		if err != nil {
			s.t.Fatal(err)
		}
		return azureData{client}
	case cosiapi.ProtocolGCS:
		return s.s3Data(s.gcs, secret["HMAC_ACCESS_ID"], secret["HMAC_SECRET"], "auto", secret["BUCKET_NAME"])
	default:
		return s.s3Data(secret["AWS_ENDPOINT_URL"], secret["AWS_ACCESS_KEY_ID"], secret["AWS_SECRET_ACCESS_KEY"], secret["AWS_DEFAULT_REGION"], secret["BUCKET_NAME"])
	}
}

func (s *scenario) s3Data(endpoint, id, key, region, bucket string) data {
	s.t.Helper()
	at, err := url.Parse(endpoint)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := minio.New(at.Host, &minio.Options{Creds: credentials.NewStaticV4(id, key, ""), Region: region, BucketLookup: minio.BucketLookupPath})
	if err != nil {
		s.t.Fatal(err)
	}
	return s3Data{client, bucket}
}

type s3Data struct {
	client *minio.Client
	bucket string
}

func (d s3Data) put(ctx context.Context, key, value string) error {
	_, err := d.client.PutObject(ctx, d.bucket, key, strings.NewReader(value), int64(len(value)), minio.PutObjectOptions{})
	return err
}

func (d s3Data) get(ctx context.Context, key string) (string, error) {
	object, err := d.client.GetObject(ctx, d.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return "", err
	}
	defer object.Close()
	value, err := io.ReadAll(object)
	return string(value), err
}

func (d s3Data) remove(ctx context.Context, key string) error {
	return d.client.RemoveObject(ctx, d.bucket, key, minio.RemoveObjectOptions{})
}

type azureData struct{ client *container.Client }

func (d azureData) put(ctx context.Context, key, value string) error {
	_, err := d.client.NewBlockBlobClient(key).UploadBuffer(ctx, []byte(value), nil)
	return err
}

func (d azureData) get(ctx context.Context, key string) (string, error) {
	response, err := d.client.NewBlobClient(key).DownloadStream(ctx, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	value, err := io.ReadAll(response.Body)
	return string(value), err
}

func (d azureData) remove(ctx context.Context, key string) error {
	_, err := d.client.NewBlobClient(key).Delete(ctx, nil)
	return err
}

// wantObject reads an object and compares its content.
func (s *scenario) wantObject(from data, key, want string) {
	s.t.Helper()
	if got, err := from.get(s.t.Context(), key); err != nil || got != want {
		s.t.Errorf("get %s: want %q, got %q, %v", key, want, got, err)
	}
}

// must fails the test if an operation on the data failed.
func (s *scenario) must(err error, format string, args ...any) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

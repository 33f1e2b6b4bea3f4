// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// useAzure claims a container next to the bucket and uses it with the Azure SDK. refused verifies that the
// credential is rejected after the access is deleted.
func (s *stack) useAzure() (refused func()) {
	s.t.Helper()
	granted := variables(s.compose("run", "--rm", "--env", "COOPER_CLOUD=azure", "sample"))
	client, err := container.NewClientWithNoCredential(granted["AZURE_STORAGE_SAS_TOKEN"], nil)
	if err != nil {
		s.t.Fatal(err)
	}
	blob := client.NewBlockBlobClient("hello.txt")
	if _, err := blob.UploadBuffer(s.t.Context(), []byte("hello"), nil); err != nil {
		s.t.Fatalf("put at Azure: %v", err)
	}
	if _, err := blob.Delete(s.t.Context(), nil); err != nil {
		s.t.Fatalf("delete at Azure: %v", err)
	}
	return func() {
		s.t.Helper()
		if _, err := blob.UploadBuffer(s.t.Context(), []byte("hello"), nil); !bloberror.HasCode(err, bloberror.AuthenticationFailed, bloberror.AuthorizationFailure) {
			s.t.Errorf("the token after its access was deleted: want it refused, got %v", err)
		}
	}
}

// useGCS does the same for Cloud Storage, with an S3 client and the HMAC key pair.
func (s *stack) useGCS() (refused func()) {
	s.t.Helper()
	granted := variables(s.compose("run", "--rm", "--env", "COOPER_CLOUD=gcs", "sample"))
	client, err := minio.New("127.0.0.1:"+s.gcsPort, &minio.Options{
		Creds: credentials.NewStaticV4(granted["HMAC_ACCESS_ID"], granted["HMAC_SECRET"], ""), BucketLookup: minio.BucketLookupPath, Region: "auto",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	put := func() error {
		_, err := client.PutObject(s.t.Context(), granted["BUCKET_NAME"], "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{})
		return err
	}
	if err := put(); err != nil {
		s.t.Fatalf("put at Cloud Storage: %v", err)
	}
	if err := client.RemoveObject(s.t.Context(), granted["BUCKET_NAME"], "hello.txt", minio.RemoveObjectOptions{}); err != nil {
		s.t.Fatalf("delete at Cloud Storage: %v", err)
	}
	return func() {
		s.t.Helper()
		if err := put(); minio.ToErrorResponse(err).StatusCode != http.StatusForbidden {
			s.t.Errorf("the HMAC pair after its access was deleted: want 403, got %v", err)
		}
	}
}

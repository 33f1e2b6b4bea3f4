// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/testcontainers/testcontainers-go"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/fakes/fakecontainer"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestFakeContainers uses each fake as external projects do, with a seed and an ordinary client.
func TestFakeContainers(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "containers of the same image are tested with whole systems")
	image := containers.Name(t, containers.Ours("cooper"))
	seed := func() []testcontainers.ContainerCustomizer { // a reader can be read only once
		return []testcontainers.ContainerCustomizer{
			testcontainers.WithFiles(testcontainers.ContainerFile{Reader: strings.NewReader("buckets: [{name: photos}]"), ContainerFilePath: "/seed.yaml", FileMode: 0o644}),
			testcontainers.WithCmdArgs("--seed-file=/seed.yaml"),
		}
	}
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		fake, err := fakecontainer.RunS3(t.Context(), image, seed()...)
		testcontainers.CleanupContainer(t, fake)
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(fake.URL)
		if err != nil {
			t.Fatal(err)
		}
		client, err := minio.New(at.Host, &minio.Options{Creds: credentials.NewStaticV4(fake.AccessKeyID, fake.SecretAccessKey, ""), Region: fake.Region})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.PutObject(t.Context(), "photos", "cat", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
			t.Error(err)
		}
		calls, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fake.URL+"/_cooper/calls", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		calls.SetBasicAuth(fake.AccessKeyID, fake.SecretAccessKey)
		resp, err := http.DefaultClient.Do(calls)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the calls: %v %v", resp, err)
		}
	})
	t.Run("Azure", func(t *testing.T) {
		t.Parallel()
		fake, err := fakecontainer.RunAzure(t.Context(), image)
		testcontainers.CleanupContainer(t, fake)
		if err != nil {
			t.Fatal(err)
		}
		key, err := container.NewSharedKeyCredential(fake.Account, fake.Key)
		if err != nil {
			t.Fatal(err)
		}
		client, err := container.NewClientWithSharedKeyCredential(fake.URL+"/photos", key, nil)
		if err == nil {
			_, err = client.Create(t.Context(), nil)
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("GCS", func(t *testing.T) {
		t.Parallel()
		fake, err := fakecontainer.RunGCS(t.Context(), image, seed()...)
		testcontainers.CleanupContainer(t, fake)
		if err != nil {
			t.Fatal(err)
		}
		client, err := storage.NewClient(t.Context(), option.WithEndpoint(fake.URL+"/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, fake.AdminKey))
		if err != nil {
			t.Fatal(err)
		}
		if attrs, err := client.Bucket("photos").Attrs(t.Context()); err != nil || attrs.Name != "photos" {
			t.Errorf("%v %v", attrs, err)
		}
		if err := client.Bucket("other").Create(t.Context(), fake.ProjectID, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("an image that is not there", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		fake, err := fakecontainer.RunS3(ctx, image)
		testcontainers.CleanupContainer(t, fake)
		if err == nil || !strings.Contains(err.Error(), "run cooper fakes s3") {
			t.Errorf("a run that was given up: %v", err)
		}
	})
}

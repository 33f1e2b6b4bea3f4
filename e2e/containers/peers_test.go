// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/azure/azurite"
	"github.com/testcontainers/testcontainers-go/modules/localstack"
	miniomodule "github.com/testcontainers/testcontainers-go/modules/minio"
	"github.com/testcontainers/testcontainers-go/wait"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestPeerModules starts Cooper's image with the official modules of the programs that it replaces, and uses each with
// the credentials that the module assumes. TestPeers in cmd/cooper starts the same command lines as processes.
func TestPeerModules(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestPeers in cmd/cooper")
	image := containers.Name(t, containers.Ours("cooper"))
	t.Run("Azurite", func(t *testing.T) {
		t.Parallel()
		c, err := azurite.Run(t.Context(), image, azurite.WithInMemoryPersistence(64))
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.BlobServiceURL(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		createContainer(t, url)
	})
	t.Run("Azurite with the command line of the module for Node", func(t *testing.T) {
		t.Parallel()
		c, err := testcontainers.Run(t.Context(), image, testcontainers.WithEntrypoint("azurite"), testcontainers.WithExposedPorts("10000/tcp", "10001/tcp", "10002/tcp"),
			testcontainers.WithCmd("--blobHost", "0.0.0.0", "--blobPort", "10000", "--queueHost", "0.0.0.0", "--queuePort", "10001", "--tableHost", "0.0.0.0", "--tablePort", "10002"),
			testcontainers.WithWaitStrategy(wait.ForLog("Blob service is successfully listening"), wait.ForLog("Queue service is successfully listening"), wait.ForLog("Table service is successfully listening")))
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.PortEndpoint(t.Context(), "10000/tcp", "http")
		if err != nil {
			t.Fatal(err)
		}
		createContainer(t, url)
	})
	t.Run("MinIO", func(t *testing.T) {
		t.Parallel()
		c, err := miniomodule.Run(t.Context(), image)
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			t.Fatal(err)
		}
		address, err := c.ConnectionString(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		putObject(t, address, c.Username, c.Password)
	})
	t.Run("LocalStack", func(t *testing.T) {
		t.Parallel()
		// The module reads the version of LocalStack from the tag, and accepts this one.
		c, err := localstack.Run(t.Context(), containers.Tag(t, image, "cooper-replaces/localstack:latest"))
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			t.Fatal(err)
		}
		address, err := c.PortEndpoint(t.Context(), "4566/tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		putObject(t, address, "test", "test")
	})
	t.Run("fake-gcs-server with the command line of the module for Node", func(t *testing.T) {
		t.Parallel()
		c, err := testcontainers.Run(t.Context(), image, testcontainers.WithEntrypoint("fake-gcs-server", "-host", "0.0.0.0", "-scheme", "http"),
			testcontainers.WithExposedPorts("4443/tcp"), testcontainers.WithWaitStrategy(wait.ForLog("server started").WithStartupTimeout(2*time.Minute)))
		testcontainers.CleanupContainer(t, c)
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.PortEndpoint(t.Context(), "4443/tcp", "http")
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/_internal/config", strings.NewReader(`{"externalUrl": "`+url+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("the configuration: %v %v", response, err)
		}
		client, err := storage.NewClient(t.Context(), option.WithEndpoint(url+"/storage/v1/"), option.WithoutAuthentication())
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Bucket("photos").Create(t.Context(), "test-project", nil); err != nil {
			t.Error(err)
		}
	})
}

// createContainer creates a container in the account that every user of Azurite has.
func createContainer(t *testing.T, url string) {
	t.Helper()
	key, err := container.NewSharedKeyCredential(azurite.AccountName, azurite.AccountKey)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(url+"/"+azurite.AccountName+"/photos", key, nil)
	if err == nil {
		_, err = client.Create(t.Context(), nil)
	}
	if err != nil {
		t.Error(err)
	}
}

func putObject(t *testing.T, address, key, secret string) {
	t.Helper()
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: "us-east-1"})
	if err == nil {
		err = client.MakeBucket(t.Context(), "photos", minio.MakeBucketOptions{})
	}
	if err == nil {
		_, err = client.PutObject(t.Context(), "photos", "cat", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
	}
	if err != nil {
		t.Error(err)
	}
}

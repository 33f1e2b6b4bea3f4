// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/azure/azurite"
	"github.com/testcontainers/testcontainers-go/modules/localstack"
	miniomodule "github.com/testcontainers/testcontainers-go/modules/minio"

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

// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"io"
	"net/url"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

const text = "hello from a test"

// TestStoresKeepWhatTheyHoldWhenTheyAreKilled uses every store with its root credentials and an ordinary
// client, kills it and reads the data. Azurite is stopped gracefully instead, because it writes its index
// with a delay of seconds.
func TestStoresKeepWhatTheyHoldWhenTheyAreKilled(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T) (*containers.Container, func(t *testing.T)){
		"our fake S3": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return s3Store(t, containers.FakeS3(t, nil))
		},
		"MinIO": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return s3Store(t, containers.MinIO(t, nil))
		},
		"versitygw": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return s3Store(t, containers.VersityGW(t, nil))
		},
		"our fake Azure": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return azureStore(t, containers.FakeAzure(t, nil))
		},
		"Azurite": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return azureStore(t, containers.Azurite(t, nil))
		},
		"our fake GCS": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return gcsStore(t, containers.FakeGCS(t, nil))
		},
		"fake-gcs-server": func(t *testing.T) (*containers.Container, func(t *testing.T)) {
			return gcsStore(t, containers.FakeGCSServer(t, nil))
		},
	}
	for name, store := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			container, read := store(t)
			read(t)
			if name == "Azurite" {
				container.Stop()
			} else {
				container.Kill()
			}
			container.Start()
			read(t)
		})
	}
}

// s3Store writes an object and returns a function that reads it.
func s3Store(t *testing.T, store *containers.S3Store) (*containers.Container, func(t *testing.T)) {
	t.Helper()
	endpoint, err := url.Parse(store.URL())
	if err != nil {
		t.Fatal(err)
	}
	root := store.Root()
	client, err := minio.New(endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(root.AccessKeyID, root.SecretAccessKey, ""), Region: store.Region()})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(t.Context(), "held", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(t.Context(), "held", "a", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	return store.Container, func(t *testing.T) {
		t.Helper()
		object, err := client.GetObject(t.Context(), "held", "a", minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, object)
	}
}

func azureStore(t *testing.T, store *containers.AzureStore) (*containers.Container, func(t *testing.T)) {
	t.Helper()
	key, _ := store.Keys(azurefake.DefaultAccount)
	credential, err := azblob.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := azblob.NewClientWithSharedKeyCredential(store.URL()+"/"+azurefake.DefaultAccount, credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateContainer(t.Context(), "held", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.UploadBuffer(t.Context(), "held", "a", []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	return store.Container, func(t *testing.T) {
		t.Helper()
		blob, err := client.DownloadStream(t.Context(), "held", "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, blob.Body)
	}
}

func gcsStore(t *testing.T, store *containers.GCSStore) (*containers.Container, func(t *testing.T)) {
	t.Helper()
	options := []option.ClientOption{option.WithEndpoint(store.URL() + "/storage/v1/"), storage.WithJSONReads(), option.WithoutAuthentication()}
	key, err := store.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	if key != nil {
		options[2] = option.WithAuthCredentialsJSON(option.ServiceAccount, key)
	}
	client, err := storage.NewClient(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // nothing to lose on close
	held := client.Bucket("held")
	if err := held.Create(t.Context(), store.ProjectID(), nil); err != nil {
		t.Fatal(err)
	}
	writer := held.Object("a").NewWriter(t.Context())
	if _, err := io.WriteString(writer, text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return store.Container, func(t *testing.T) {
		t.Helper()
		reader, err := held.Object("a").NewReader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, reader)
	}
}

func wantText(t *testing.T, from io.ReadCloser) {
	t.Helper()
	defer from.Close()
	if got, err := io.ReadAll(from); err != nil || string(got) != text {
		t.Errorf("read %q, %v; want %q", got, err, text)
	}
}

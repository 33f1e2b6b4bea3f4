// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"bytes"
	"cmp"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// A Store is an object store in a container.
type Store struct {
	*Container

	port string
}

// URL is the URL for this process.
func (s *Store) URL() string { return "http://" + s.Address() }

// NetworkURL is the URL for containers on the same network.
func (s *Store) NetworkURL() string { return "http://" + s.Name + ":" + s.port }

const (
	s3Port, azurePort, gcsPort, googlePort = "9000", "10000", "9002", "4443"

	region = "us-east-1"
	// rootKey and rootSecret are the credentials of every S3 store here; azureKey is the key of every Blob
	// service. They protect nothing.
	rootKey    = "AKIACOOPERCONTAINERS"
	rootSecret = "only-for-tests-on-this-machine"
	azureKey   = "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"
	// noProject is the project of a store without accounts, which accepts any.
	noProject = "cooper-real"
)

// S3Store is an S3 store in a container.
type S3Store struct {
	Store

	// kind is the type of the S3 driver's backend.
	kind string
}

// Region is the region that the store serves.
func (s *S3Store) Region() string { return region }

// Root returns credentials with all permissions.
func (s *S3Store) Root() s3fake.Credentials {
	return s3fake.Credentials{AccessKeyID: rootKey, SecretAccessKey: rootSecret}
}

// FakeS3 runs the image of Cooper's fake S3 and IAM. The network may be nil.
func FakeS3(tb testing.TB, on *Network) *S3Store {
	tb.Helper()
	return &S3Store{kind: "aws", Store: Store{port: s3Port, Container: start(tb, spec{
		name: "s3", image: Ours("cooper"), network: on, port: 9000, ready: "/_cooper/health",
		command:     []string{"fakes", "s3", "--listen=0.0.0.0:" + s3Port, "--data=/data/s3"},
		environment: map[string]string{"COOPER_ADMIN": "true", "COOPER_ROOT_ACCESS_KEY_ID": rootKey, "COOPER_ROOT_SECRET_ACCESS_KEY": rootSecret},
		volumes:     map[string]string{newVolume(tb, "s3"): "/data"},
	})}}
}

// MinIO runs MinIO.
func MinIO(tb testing.TB, on *Network) *S3Store {
	tb.Helper()
	return &S3Store{kind: "minio", Store: Store{port: s3Port, Container: start(tb, spec{
		name: "minio", image: MinIOImage(), network: on, port: 9000, ready: "/minio/health/live",
		command:     []string{"server", "/data"},
		environment: map[string]string{"MINIO_ROOT_USER": rootKey, "MINIO_ROOT_PASSWORD": rootSecret, "MINIO_UPDATE": "off", "MINIO_BROWSER": "off"},
		volumes:     map[string]string{newVolume(tb, "minio"): "/data"},
	})}}
}

// VersityGW runs versitygw with its own accounts.
func VersityGW(tb testing.TB, on *Network) *S3Store {
	tb.Helper()
	return &S3Store{kind: "versitygw", Store: Store{port: s3Port, Container: start(tb, spec{
		name: "versitygw", image: VersityGWImage(), network: on, port: 9000, ready: "/",
		command:     []string{"--port", ":" + s3Port, "--quiet", "--iam-cache-disable", "--iam-dir", "/iam", "posix", "/data"},
		environment: map[string]string{"ROOT_ACCESS_KEY": rootKey, "ROOT_SECRET_KEY": rootSecret},
		volumes:     map[string]string{newVolume(tb, "versitygw"): "/data", newVolume(tb, "versitygw-iam"): "/iam"},
	})}}
}

// AzureStore is a Blob service in a container.
type AzureStore struct{ Store }

// Keys returns the two keys of an account, or empty strings if it does not exist.
func (*AzureStore) Keys(account string) (key1, key2 string) {
	if account != azurefake.DefaultAccount {
		return "", ""
	}
	return azureKey, azureKey
}

// FakeAzure runs the image of Cooper's fake Blob service.
func FakeAzure(tb testing.TB, on *Network) *AzureStore {
	tb.Helper()
	return &AzureStore{Store{port: azurePort, Container: start(tb, spec{
		name: "azure", image: Ours("cooper"), network: on, port: 10000, ready: "/_cooper/health",
		command:     []string{"fakes", "azure", "--listen=0.0.0.0:" + azurePort, "--data=/data/azure"},
		environment: map[string]string{"COOPER_ADMIN": "true", "COOPER_KEY": azureKey},
		volumes:     map[string]string{newVolume(tb, "azure"): "/data"},
	})}}
}

// Azurite runs Azurite.
func Azurite(tb testing.TB, on *Network) *AzureStore {
	tb.Helper()
	return &AzureStore{Store{port: azurePort, Container: start(tb, spec{
		name: "azurite", image: AzuriteImage(), network: on, port: 10000, ready: "/",
		command:     []string{"azurite-blob", "--blobHost", "0.0.0.0", "--location", "/data", "--skipApiVersionCheck", "--disableTelemetry"},
		environment: map[string]string{"AZURITE_ACCOUNTS": azurefake.DefaultAccount + ":" + azureKey},
		volumes:     map[string]string{newVolume(tb, "azurite"): "/data"},
	})}}
}

// GCSStore is a Cloud Storage service in a container.
type GCSStore struct {
	Store

	// keys is the volume with the administrator's key; empty without accounts.
	keys string
}

// ProjectID is the only project.
func (s *GCSStore) ProjectID() string {
	if s.keys == "" {
		return noProject
	}
	return gcsfake.DefaultProject
}

// adminKeyFile is the file to which the fake writes the key.
const adminKeyFile = "/keys/admin.json"

// AdminKey returns the JSON key of the project's administrator, or nil if the store has no accounts. base is the URL at
// which clients reach the store. Empty means URL.
func (s *GCSStore) AdminKey(base string) ([]byte, error) {
	if s.keys == "" {
		return nil, nil
	}
	return bytes.ReplaceAll(s.File(adminKeyFile), []byte(s.NetworkURL()), []byte(cmp.Or(base, s.URL()))), nil
}

// FakeGCS runs the image of Cooper's fake Cloud Storage and IAM.
func FakeGCS(tb testing.TB, on *Network) *GCSStore {
	tb.Helper()
	keys := newVolume(tb, "keys")
	return &GCSStore{keys: keys, Store: Store{port: gcsPort, Container: start(tb, spec{
		name: "gcs", image: Ours("cooper"), network: on, port: 9002, ready: "/_cooper/health",
		command:     []string{"fakes", "gcs", "--listen=0.0.0.0:" + gcsPort, "--data=/data/gcs", "--key-file=" + adminKeyFile, "--url=http://gcs:" + gcsPort},
		environment: map[string]string{"COOPER_ADMIN": "true"},
		volumes:     map[string]string{newVolume(tb, "gcs"): "/data", keys: "/keys"},
	})}}
}

// FakeGCSServer runs fake-gcs-server, which has no accounts and does not authenticate requests.
func FakeGCSServer(tb testing.TB, on *Network) *GCSStore {
	tb.Helper()
	return &GCSStore{Store: Store{port: googlePort, Container: start(tb, spec{
		name: "fake-gcs-server", image: FakeGCSServerImage(), network: on, port: 4443, ready: "/_internal/healthcheck",
		command: []string{"-scheme", "http", "-host", "0.0.0.0", "-port", googlePort, "-backend", "filesystem", "-filesystem-root", "/storage"},
		volumes: map[string]string{newVolume(tb, "fake-gcs"): "/storage"},
	})}}
}

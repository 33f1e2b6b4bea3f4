// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/settings"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// pool is the workload identity pool of the tests, as GKE has it.
const pool = gcsfake.DefaultProject + ".svc.id.goog"

// google is a fake of Google Cloud with one project.
type google struct {
	*gcsfake.Server

	// keyFile has the administrator's credentials, which the driver uses too.
	keyFile string
	// readLag is set where reads lag.
	readLag settings.ReadLag
}

func startGoogle(t *testing.T, options gcsfake.Options) google {
	t.Helper()
	server := faketest.Start(t, gcsfake.New, options)
	key, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return google{Server: server, keyFile: file}
}

// backend is the configuration of a driver on the fake.
func (g google) backend() gcsdriver.BackendConfig {
	return gcsdriver.BackendConfig{
		Project: g.ProjectID(), Endpoint: g.URL(), CredentialsFile: g.keyFile, ReadLag: g.readLag,
		WorkloadIdentity: gcsdriver.WorkloadIdentityConfig{
			Pool: "projects/" + g.ProjectNumber("") + "/locations/global/workloadIdentityPools/" + pool,
		},
	}
}

// root is a client of the project's administrator.
func (g google) root(t *testing.T) *storage.Client {
	t.Helper()
	return client(t, g.URL(), g.administrator(t))
}

// administrator is the credential of the project's administrator.
func (g google) administrator(t *testing.T) option.ClientOption {
	t.Helper()
	token, err := g.Token(g.AdminEmail(""))
	if err != nil {
		t.Fatal(err)
	}
	return option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}))
}

func client(t *testing.T, url string, authentication option.ClientOption) *storage.Client {
	t.Helper()
	made, err := storage.NewClient(t.Context(), option.WithEndpoint(url+"/storage/v1/"), authentication)
	if err != nil {
		t.Fatal(err)
	}
	made.SetRetry(storage.WithPolicy(storage.RetryNever))
	t.Cleanup(func() { _ = made.Close() })
	return made
}

// world is one driver process.
type world struct {
	*drivertest.Client

	google google
	store  credstore.Store
}

type worldOptions struct {
	store  credstore.Store
	wrap   func(http.RoundTripper) http.RoundTripper
	config func(*gcsdriver.Config)
	serve  driverkit.Options
}

// newWorld serves a driver over a real socket. A second world on the same fake and store is equivalent to a restarted
// driver.
func newWorld(t *testing.T, on google, options worldOptions) *world {
	t.Helper()
	if options.store == nil {
		options.store = credstore.NewMemory()
	}
	config := gcsdriver.Config{Backends: map[string]gcsdriver.BackendConfig{"main": on.backend()}}
	if options.config != nil {
		options.config(&config)
	}
	driver, err := gcsdriver.New(gcsdriver.Options{Config: config, Credentials: options.store, WrapTransport: options.wrap})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Client: drivertest.Serve(t, driver, options.serve), google: on, store: options.store}
}

var (
	readWrite = drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}
	readOnly  = drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}
	writeOnly = drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}
)

func grantRequest(account string, modes drivertest.Modes, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	return drivertest.GrantRequest(cosi.ObjectProtocol_GCS, account, modes, buckets...)
}

// with sets a parameter of the access class.
func with(request *cosi.DriverGrantBucketAccessRequest, key, value string) *cosi.DriverGrantBucketAccessRequest {
	if request.Parameters == nil {
		request.Parameters = map[string]string{}
	}
	request.Parameters[key] = value
	return request
}

// as asks for access by a Kubernetes service account.
func as(request *cosi.DriverGrantBucketAccessRequest, namespace, name string) *cosi.DriverGrantBucketAccessRequest {
	request.AuthenticationType = &cosi.AuthenticationType{Type: cosi.AuthenticationType_SERVICE_ACCOUNT}
	request.ServiceAccountNamespace, request.ServiceAccountName = namespace, name
	return request
}

// jsonClient is Google's client with the service account key of a grant, put together as a user would
// from the Secret.
func jsonClient(t *testing.T, on google, granted *cosi.DriverGrantBucketAccessResponse) *storage.Client {
	t.Helper()
	given := granted.GetCredentials().GetGcs()
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": granted.GetBuckets()[0].GetBucketInfo().GetGcs().GetProjectId(),
		"client_email": given.GetClientEmail(), "client_id": given.GetClientId(),
		"private_key_id": given.GetPrivateKeyName(), "private_key": given.GetPrivateKey(),
		"token_uri": on.URL() + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return client(t, on.URL(), option.WithAuthCredentialsJSON(option.ServiceAccount, file))
}

// hmacClient is an S3 client with the HMAC pair of a grant.
func hmacClient(t *testing.T, on google, granted *cosi.DriverGrantBucketAccessResponse) *minio.Client {
	t.Helper()
	given := granted.GetCredentials().GetGcs()
	made, err := minio.New(strings.TrimPrefix(on.URL(), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(given.GetAccessId(), given.GetAccessSecret(), ""), BucketLookup: minio.BucketLookupPath, MaxRetries: 1,
		Region: "auto",
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func s3Put(t *testing.T, with *minio.Client, bucket, key string) error {
	t.Helper()
	_, err := with.PutObject(t.Context(), bucket, key, strings.NewReader("text"), 4, minio.PutObjectOptions{})
	return err
}

func s3Get(t *testing.T, with *minio.Client, bucket, key string) error {
	t.Helper()
	object, err := with.GetObject(t.Context(), bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, object)
	return errors.Join(err, object.Close())
}

func s3List(t *testing.T, with *minio.Client, bucket string) error {
	t.Helper()
	for object := range with.ListObjects(t.Context(), bucket, minio.ListObjectsOptions{}) {
		if object.Err != nil {
			return object.Err
		}
	}
	return nil
}

func put(ctx context.Context, with *storage.Client, bucket, key string) error {
	writer := with.Bucket(bucket).Object(key).NewWriter(ctx)
	writer.ChunkSize = 0
	_, err := writer.Write([]byte("text"))
	return errors.Join(err, writer.Close())
}

func get(ctx context.Context, with *storage.Client, bucket, key string) error {
	reader, err := with.Bucket(bucket).Object(key).NewReader(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, reader)
	return errors.Join(err, reader.Close())
}

// httpStatus returns the HTTP status of a Google client's error, 0 for success, -1 without a response.
func httpStatus(err error) int {
	if err == nil {
		return 0
	}
	if answer, ok := errors.AsType[*googleapi.Error](err); ok {
		return answer.Code
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return refused.Response.StatusCode
	}
	return -1
}

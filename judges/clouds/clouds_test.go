// SPDX-License-Identifier: Apache-2.0

// Package clouds_test runs the acceptance tests of third-party storage libraries against the fakes of all three clouds.
// The authors of the libraries run the same tests against the clouds themselves.
package clouds_test

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"
	thanosazure "github.com/thanos-io/objstore/providers/azure"
	thanosgcs "github.com/thanos-io/objstore/providers/gcs"
	thanoss3 "github.com/thanos-io/objstore/providers/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/drivertest"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

const (
	bucket  = "judged"
	missing = "never-made"
)

// A cloud is a fake with an empty bucket, and how the judges open that.
type cloud struct {
	name   string
	thanos func(t *testing.T) objstore.Bucket
	open   func(t *testing.T) harness
}

func clouds() []cloud {
	return []cloud{
		{name: "S3", thanos: s3Thanos, open: s3Harness},
		{name: "Azure", thanos: azureThanos, open: azureHarness},
		{name: "GCS", thanos: gcsThanos, open: gcsHarness},
	}
}

// TestThanos runs the acceptance tests for providers of the object storage library of Thanos and Cortex.
func TestThanos(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of each fake do this with the SDK")
	for _, c := range clouds() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := c.thanos(t)
			objstore.AcceptanceTest(t, store)
			objstore.AcceptanceTest(t, objstore.NewPrefixedBucket(store, "some_prefix"))
		})
	}
}

// TestGoCloud runs the conformance tests of the Go Cloud Development Kit for its drivers.
func TestGoCloud(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of each fake do this with the SDK")
	for _, c := range clouds() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			drivertest.RunConformanceTests(t, func(_ context.Context, t *testing.T) (drivertest.Harness, error) {
				return c.open(t), nil
			}, nil)
		})
	}
}

// A harness has a fake of its own, since the tests expect an empty bucket.
type harness struct {
	open func(bucket string) (*blob.Bucket, error)
	// signed is the way of requests with a signed URL.
	signed http.RoundTripper
}

func (h harness) MakeDriver(context.Context) (driver.Bucket, error) { return opened(h.open(bucket)) }

func (h harness) MakeDriverForNonexistentBucket(context.Context) (driver.Bucket, error) {
	return opened(h.open(missing))
}

func (h harness) HTTPClient() *http.Client       { return &http.Client{Transport: h.signed} }
func (harness) SupportsCopy() bool               { return true }
func (harness) SupportsNonSlashDelimiters() bool { return true }
func (harness) Close()                           {}

// opened returns the driver of a bucket: drivers cannot be opened from outside, and the conformance tests need
// nothing else.
func opened(b *blob.Bucket, err error) (driver.Bucket, error) {
	if err != nil {
		return nil, err
	}
	field := reflect.ValueOf(b).Elem().FieldByName("b")
	return *(*driver.Bucket)(unsafe.Pointer(field.UnsafeAddr())), nil
}

// blockBlob names the type of a blob that is put through a signed URL, which Azure demands.
func blockBlob(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		r = r.Clone(r.Context())
		r.Header.Set("x-ms-blob-type", "BlockBlob")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func s3Fake(t *testing.T) (*s3fake.Server, *s3.Client) {
	t.Helper()
	server := faketest.Start(t, s3fake.New, s3fake.Options{})
	root := server.Root()
	client := s3.New(s3.Options{
		Region: server.Region(), BaseEndpoint: aws.String(server.URL()), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(root.AccessKeyID, root.SecretAccessKey, ""),
	})
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func s3Harness(t *testing.T) harness {
	t.Helper()
	_, client := s3Fake(t)
	return harness{
		open:   func(name string) (*blob.Bucket, error) { return s3blob.OpenBucket(t.Context(), client, name, nil) },
		signed: http.DefaultTransport,
	}
}

func s3Thanos(t *testing.T) objstore.Bucket {
	t.Helper()
	server, _ := s3Fake(t)
	config := thanoss3.DefaultConfig
	config.Bucket, config.Region, config.Insecure = bucket, server.Region(), true
	config.Endpoint = strings.TrimPrefix(server.URL(), "http://")
	config.AccessKey, config.SecretKey = server.Root().AccessKeyID, server.Root().SecretAccessKey
	return thanosBucket(t)(thanoss3.NewBucketWithConfig(log.NewNopLogger(), config, t.Name(), nil))
}

func azureFake(t *testing.T) (endpoint, key string) {
	t.Helper()
	server := faketest.Start(t, azurefake.New, azurefake.Options{})
	endpoint = server.AccountURL(azurefake.DefaultAccount)
	key, _ = server.Keys(azurefake.DefaultAccount)
	client, err := azureContainer(endpoint, key, bucket)
	if err == nil {
		_, err = client.Create(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return endpoint, key
}

func azureContainer(endpoint, key, name string) (*container.Client, error) {
	credential, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	if err != nil {
		return nil, err
	}
	return container.NewClientWithSharedKeyCredential(endpoint+"/"+name, credential, nil)
}

func azureHarness(t *testing.T) harness {
	t.Helper()
	if strings.Contains(t.Name(), "/TestCanceledWrite") || strings.Contains(t.Name(), "/TestIfNotExist") {
		t.Skip("gocloud.dev v0.46.0 does not run these for Azure either: its driver closes a pipe that is nil after a refusal, and panics")
	}
	endpoint, key := azureFake(t)
	return harness{signed: roundTripper(blockBlob), open: func(name string) (*blob.Bucket, error) {
		client, err := azureContainer(endpoint, key, name)
		if err != nil {
			return nil, err
		}
		return azureblob.OpenBucket(t.Context(), client, nil)
	}}
}

func azureThanos(t *testing.T) objstore.Bucket {
	t.Helper()
	endpoint, key := azureFake(t)
	config := thanosazure.DefaultConfig
	config.StorageAccountName, config.ContainerName = azurefake.DefaultAccount, bucket
	config.StorageConnectionString = "DefaultEndpointsProtocol=http;AccountName=" + azurefake.DefaultAccount +
		";AccountKey=" + key + ";BlobEndpoint=" + endpoint
	return thanosBucket(t)(thanosazure.NewBucketWithConfig(log.NewNopLogger(), config, t.Name(), nil))
}

func gcsFake(t *testing.T) (server *gcsfake.Server, key []byte) {
	t.Helper()
	server = faketest.Start(t, gcsfake.New, gcsfake.Options{})
	key, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	client, err := storage.NewClient(t.Context(), option.WithEndpoint(server.URL()+"/storage/v1/"),
		option.WithAuthCredentialsJSON(option.ServiceAccount, key))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Bucket(bucket).Create(t.Context(), server.ProjectID(), nil); err != nil {
		t.Fatal(err)
	}
	return server, key
}

func gcsHarness(t *testing.T) harness {
	t.Helper()
	server, key := gcsFake(t)
	account, err := google.JWTConfigFromJSON(key, storage.ScopeFullControl)
	if err != nil {
		t.Fatal(err)
	}
	signed := redirected(t, server)(http.DefaultTransport)
	client, err := gcp.NewHTTPClient(signed, account.TokenSource(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return harness{signed: signed, open: func(name string) (*blob.Bucket, error) {
		return gcsblob.OpenBucket(t.Context(), client, name, &gcsblob.Options{GoogleAccessID: account.Email, PrivateKey: account.PrivateKey})
	}}
}

func gcsThanos(t *testing.T) objstore.Bucket {
	t.Helper()
	server, key := gcsFake(t)
	config := thanosgcs.DefaultConfig
	config.Bucket, config.ServiceAccount = bucket, string(key)
	return thanosBucket(t)(thanosgcs.NewBucketWithConfig(t.Context(), log.NewNopLogger(), config, t.Name(), redirected(t, server)))
}

// redirected redirects requests for Google's host to the fake, because these tests have no setting for an endpoint.
func redirected(t *testing.T, server *gcsfake.Server) func(http.RoundTripper) http.RoundTripper {
	t.Helper()
	fake, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, fake.Scheme, fake.Host // a signature may be for the host
			return next.RoundTrip(r)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// thanosBucket fails the test if there is no bucket, and closes it at the end.
func thanosBucket(t *testing.T) func(objstore.Bucket, error) objstore.Bucket {
	t.Helper()
	return func(b objstore.Bucket, err error) objstore.Bucket {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
}

// SPDX-License-Identifier: Apache-2.0

package staticdriver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/api/option"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/staticdriver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// atStore is the bucket's name at the store, and bucketID the name that the cluster's administrator uses.
	atStore  = "bc-photos"
	bucketID = "team/photos"
)

// cloud is a store with a bucket that another driver has created, and two credentials for it: the input of an
// administrator.
type cloud struct {
	protocol cosi.ObjectProtocol_Type
	// endpoint is the configured endpoint; only Cloud Storage needs it.
	endpoint string
	// grants are the other driver's grants, by mode.
	grants map[driverkit.Mode]*cosi.DriverGrantBucketAccessResponse
	// remove deletes the bucket; refuse makes the store reject the credential of a grant from now on.
	remove func(t *testing.T)
	refuse func(t *testing.T)
	// use reads or writes an object like an application, with an official SDK.
	use func(ctx context.Context, granted *cosi.DriverGrantBucketAccessResponse, write bool) error
}

// clouds returns the clouds that have a driver.
func clouds() map[string]func(t *testing.T) *cloud {
	return map[string]func(t *testing.T) *cloud{
		"S3": newS3, "Azure": newAzure,
		"GCS with HMAC keys": func(t *testing.T) *cloud { return newGCS(t, "hmac") },
		"GCS with JSON keys": func(t *testing.T) *cloud { return newGCS(t, "json") },
	}
}

// made has another driver create the bucket and the credentials.
func made(t *testing.T, protocol cosi.ObjectProtocol_Type, other driverkit.Driver, parameters map[string]string) *cloud {
	t.Helper()
	client := drivertest.Serve(t, other, driverkit.Options{})
	if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: atStore}); err != nil {
		t.Fatal(err)
	}
	c := &cloud{protocol: protocol, grants: map[driverkit.Mode]*cosi.DriverGrantBucketAccessResponse{}}
	requests := map[driverkit.Mode]*cosi.DriverGrantBucketAccessRequest{}
	for mode, asked := range map[driverkit.Mode]cosi.AccessMode_Mode{driverkit.ReadWrite: cosi.AccessMode_READ_WRITE, driverkit.ReadOnly: cosi.AccessMode_READ_ONLY} {
		request := drivertest.GrantRequest(protocol, "ba-"+strings.ToLower(string(mode)), drivertest.Modes{Data: asked}, atStore)
		request.Parameters = parameters
		granted, err := client.DriverGrantBucketAccess(t.Context(), request)
		mustSucceed(t, err)
		c.grants[mode], requests[mode] = granted, request
	}
	c.refuse = func(t *testing.T) {
		t.Helper()
		for _, request := range requests {
			if _, err := client.DriverRevokeBucketAccess(t.Context(), drivertest.RevokeRequest(request)); err != nil {
				t.Error(err)
			}
		}
	}
	c.remove = func(t *testing.T) {
		t.Helper()
		if _, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: atStore}); err != nil {
			t.Error(err)
		}
	}
	return c
}

func newS3(t *testing.T) *cloud {
	t.Helper()
	server := faketest.Start(t, s3fake.New, s3fake.Options{})
	root := server.Root()
	other, err := s3driver.New(s3driver.Options{
		Config: s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": {
			Type: s3driver.TypeAWS, Endpoint: server.URL(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
		}}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	c := made(t, cosi.ObjectProtocol_S3, other, nil)
	c.use = func(ctx context.Context, granted *cosi.DriverGrantBucketAccessResponse, write bool) error {
		info, key := granted.GetBuckets()[0].GetBucketInfo().GetS3(), granted.GetCredentials().GetS3()
		client := s3.New(s3.Options{
			BaseEndpoint: aws.String(info.GetEndpoint()), Region: info.GetRegion(), UsePathStyle: true, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider(key.GetAccessKeyId(), key.GetAccessSecretKey(), ""),
		})
		if write {
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(info.GetBucketId()), Key: aws.String("object"), Body: bytes.NewReader([]byte("text"))})
			return err
		}
		object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(info.GetBucketId()), Key: aws.String("object")})
		if err != nil {
			return err
		}
		return drain(object.Body)
	}
	return c
}

func drain(body io.ReadCloser) error {
	defer body.Close()
	_, err := io.Copy(io.Discard, body)
	return err
}

func newAzure(t *testing.T) *cloud {
	t.Helper()
	server := faketest.Start(t, azurefake.New, azurefake.Options{Deletion: -1})
	key, _ := server.Keys(azurefake.DefaultAccount)
	other, err := azuredriver.New(azuredriver.Options{Config: azuredriver.Config{Backends: map[string]azuredriver.BackendConfig{
		azurefake.DefaultAccount: {Endpoint: server.URL(), Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(key)}},
	}}})
	mustSucceed(t, err)
	c := made(t, cosi.ObjectProtocol_AZURE, other, nil)
	c.use = func(ctx context.Context, granted *cosi.DriverGrantBucketAccessResponse, write bool) error {
		client, err := container.NewClientWithNoCredential(granted.GetCredentials().GetAzure().GetAccessToken(),
			&container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
		if err != nil {
			return err
		}
		if write {
			_, err := client.NewBlockBlobClient("object").UploadBuffer(ctx, []byte("text"), nil)
			return err
		}
		object, err := client.NewBlobClient("object").DownloadStream(ctx, nil)
		if err != nil {
			return err
		}
		return drain(object.Body)
	}
	return c
}

func newGCS(t *testing.T, kind string) *cloud {
	t.Helper()
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{})
	key, err := server.AdminKey("")
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "key.json")
	mustSucceed(t, os.WriteFile(file, key, 0o600))
	other, err := gcsdriver.New(gcsdriver.Options{
		Config:      gcsdriver.Config{Backends: map[string]gcsdriver.BackendConfig{"main": {Project: server.ProjectID(), Endpoint: server.URL(), CredentialsFile: file}}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	c := made(t, cosi.ObjectProtocol_GCS, other, map[string]string{"credentials": kind})
	c.endpoint = server.URL()
	c.use = func(ctx context.Context, granted *cosi.DriverGrantBucketAccessResponse, write bool) error {
		if kind == "hmac" {
			return useHMAC(ctx, server.URL(), granted, write)
		}
		return useJSON(ctx, server.URL(), granted, write)
	}
	return c
}

func useHMAC(ctx context.Context, endpoint string, granted *cosi.DriverGrantBucketAccessResponse, write bool) error {
	key, bucket := granted.GetCredentials().GetGcs(), granted.GetBuckets()[0].GetBucketInfo().GetGcs().GetBucketName()
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint), Region: "auto", UsePathStyle: true, RetryMaxAttempts: 1,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		Credentials: credentials.NewStaticCredentialsProvider(key.GetAccessId(), key.GetAccessSecret(), ""),
	})
	if write {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("object"), Body: bytes.NewReader([]byte("text"))})
		return err
	}
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("object")})
	if err != nil {
		return err
	}
	return drain(object.Body)
}

func useJSON(ctx context.Context, endpoint string, granted *cosi.DriverGrantBucketAccessResponse, write bool) error {
	given, info := granted.GetCredentials().GetGcs(), granted.GetBuckets()[0].GetBucketInfo().GetGcs()
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": info.GetProjectId(), "client_email": given.GetClientEmail(), "client_id": given.GetClientId(),
		"private_key_id": given.GetPrivateKeyName(), "private_key": given.GetPrivateKey(), "token_uri": endpoint + "/token",
	})
	if err != nil {
		return err
	}
	client, err := storage.NewClient(ctx, option.WithEndpoint(endpoint+"/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, file))
	if err != nil {
		return err
	}
	defer client.Close()
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	object := client.Bucket(info.GetBucketName()).Object("object")
	if write {
		writer := object.NewWriter(ctx)
		if _, err := writer.Write([]byte("text")); err != nil {
			return err
		}
		return writer.Close()
	}
	reader, err := object.NewReader(ctx)
	if err != nil {
		return err
	}
	return drain(reader)
}

// api is the name of the protocol in Kubernetes objects.
func (c *cloud) api() cosiapi.Protocol {
	return map[cosi.ObjectProtocol_Type]cosiapi.Protocol{
		cosi.ObjectProtocol_S3: cosiapi.ProtocolS3, cosi.ObjectProtocol_AZURE: cosiapi.ProtocolAzure, cosi.ObjectProtocol_GCS: cosiapi.ProtocolGCS,
	}[c.protocol]
}

// mount writes a grant as the Secret of an access, and lays it out in a directory like a mounted Secret.
func (c *cloud) mount(t *testing.T, directory string, granted *cosi.DriverGrantBucketAccessResponse) {
	t.Helper()
	write(t, directory, secretkeys.Data(c.api(), granted.GetBuckets()[0].GetBucketInfo(), granted.GetCredentials()))
}

// write writes a file for each key, like a mounted Secret.
func write(t *testing.T, directory string, secret map[string][]byte) {
	t.Helper()
	for key, value := range secret {
		mustSucceed(t, os.WriteFile(filepath.Join(directory, key), value, 0o600))
	}
}

func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config gives the driver both credentials of the bucket.
func (c *cloud) config(t *testing.T) staticdriver.Config {
	t.Helper()
	bucket := staticdriver.BucketConfig{Endpoint: c.endpoint}
	for _, mode := range []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly} {
		directory := t.TempDir()
		c.mount(t, directory, c.grants[mode])
		bucket.Credentials = append(bucket.Credentials, staticdriver.CredentialConfig{Directory: directory, ObjectData: mode})
	}
	return staticdriver.Config{Buckets: map[string]staticdriver.BucketConfig{bucketID: bucket}}
}

// serve serves the driver over a real socket.
func serve(t *testing.T, config staticdriver.Config, store credstore.Store) (*drivertest.Client, *staticdriver.Driver) {
	t.Helper()
	driver, err := staticdriver.New(staticdriver.Options{Config: config, Credentials: store})
	mustSucceed(t, err)
	return drivertest.Serve(t, driver, driverkit.Options{}), driver
}

// grantOf requests the bucket with a class that accepts shared credentials.
func (c *cloud) grantOf(account string, data cosi.AccessMode_Mode) *cosi.DriverGrantBucketAccessRequest {
	request := drivertest.GrantRequest(c.protocol, account, drivertest.Modes{Data: data}, bucketID)
	request.Parameters = map[string]string{"acceptSharedCredential": "true"}
	return request
}

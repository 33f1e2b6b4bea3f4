// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// bucketInfo is the value of the key BucketInfo that the upstream project's released sidecar writes for
// workloads.
type bucketInfo struct {
	Spec struct {
		BucketName string `json:"bucketName"`
		SecretS3   struct {
			Endpoint        string `json:"endpoint"`
			Region          string `json:"region"`
			AccessKeyID     string `json:"accessKeyID"`
			AccessSecretKey string `json:"accessSecretKey"`
		} `json:"secretS3"`
		Protocols []string `json:"protocols"`
	} `json:"spec"`
}

// TestAReleasedSidecar calls the driver as the released v0.2 sidecar of the upstream project does, which
// supports only v1alpha1: names are those of its objects, each call is repeated against another process of
// the driver as if its result could not be stored, and revocation has no context.
func TestAReleasedSidecar(t *testing.T) {
	t.Parallel()
	store, endpoint := startStore(t, s3fake.Options{}), drivertest.Endpoint(t)
	launch := drivercmdtest.Launch{Arguments: []string{"--v1alpha1"}, Environment: map[string]string{
		"COSI_ENDPOINT": endpoint, "COOPER_CREDENTIAL_STORE": "directory:" + t.TempDir(), "S3_DRIVER_ENDPOINT": store.URL(),
		"S3_DRIVER_ACCESS_KEY_ID": store.Root().AccessKeyID, "S3_DRIVER_SECRET_ACCESS_KEY": store.Root().SecretAccessKey,
	}}
	connection := drivertest.Dial(t, endpoint).Conn
	driver := v1alpha1.NewProvisionerClient(connection)
	create := &v1alpha1.DriverCreateBucketRequest{Name: "fast-" + uuid.NewString()}
	grant := &v1alpha1.DriverGrantBucketAccessRequest{Name: "ba-" + uuid.NewString(), AuthenticationType: v1alpha1.AuthenticationType_Key}
	var infos []string
	account := ""
	for range 2 {
		process := launch.Start(t)
		info, err := v1alpha1.NewIdentityClient(connection).DriverGetInfo(t.Context(), &v1alpha1.DriverGetInfoRequest{})
		if err != nil || info.GetName() != "s3.cooper.dev" {
			t.Fatalf("the name of the driver is %q: %v", info.GetName(), err)
		}
		created, err := driver.DriverCreateBucket(t.Context(), create)
		if err != nil {
			t.Fatal(err)
		}
		grant.BucketId = created.GetBucketId()
		granted, err := driver.DriverGrantBucketAccess(t.Context(), grant)
		if err != nil {
			t.Fatal(err)
		}
		account = granted.GetAccountId()
		infos = append(infos, infoOf(t, create.GetName(), granted))
		process.Terminate()
		if code := process.Exit(); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, process.Output())
		}
	}
	if infos[0] != infos[1] {
		t.Error("the same grant gave another credential")
	}
	useAsWorkload(t, infos[0])

	launch.Start(t)
	for range 2 {
		if _, err := driver.DriverRevokeBucketAccess(t.Context(), &v1alpha1.DriverRevokeBucketAccessRequest{BucketId: grant.GetBucketId(), AccountId: account}); err != nil {
			t.Fatal(err)
		}
		if _, err := driver.DriverDeleteBucket(t.Context(), &v1alpha1.DriverDeleteBucketRequest{BucketId: grant.GetBucketId()}); err != nil {
			t.Fatal(err)
		}
	}
	if left := store.Inventory(); len(left.Buckets)+len(left.Users)+len(left.Policies) != 0 {
		t.Errorf("there are left %+v", left)
	}
}

// infoOf returns the information that the sidecar writes for workloads. It accepts exactly one set of credentials, under the
// requested name.
func infoOf(t *testing.T, name string, granted *v1alpha1.DriverGrantBucketAccessResponse) string {
	t.Helper()
	secrets := granted.GetCredentials()[v1alpha1.ProtocolS3].GetSecrets()
	if granted.GetAccountId() == "" || len(granted.GetCredentials()) != 1 || secrets == nil {
		t.Fatalf("the sidecar takes an account ID and one set of credentials, for s3, and got %d", len(granted.GetCredentials()))
	}
	info := bucketInfo{}
	info.Spec.BucketName, info.Spec.Protocols = name, []string{"s3"}
	info.Spec.SecretS3.Endpoint, info.Spec.SecretS3.Region = secrets[v1alpha1.KeyEndpoint], secrets[v1alpha1.KeyRegion]
	info.Spec.SecretS3.AccessKeyID, info.Spec.SecretS3.AccessSecretKey = secrets[v1alpha1.KeyAccessKeyID], secrets[v1alpha1.KeyAccessSecretKey]
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// useAsWorkload stores and deletes an object with the contents of a workload's Secret.
func useAsWorkload(t *testing.T, secret string) {
	t.Helper()
	info := bucketInfo{}
	if err := json.Unmarshal([]byte(secret), &info); err != nil {
		t.Fatal(err)
	}
	given := info.Spec.SecretS3
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(given.Endpoint), Region: given.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(given.AccessKeyID, given.AccessSecretKey, ""),
	})
	bucket, key := aws.String(info.Spec.BucketName), aws.String("hello")
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("hello")}); err != nil {
		t.Fatal(err)
	}
	object, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	if text, err := io.ReadAll(object.Body); err != nil || string(text) != "hello" {
		t.Errorf("want the stored object, got %q, %v", text, err)
	}
	if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
		t.Fatal(err)
	}
}

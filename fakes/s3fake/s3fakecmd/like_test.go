// SPDX-License-Identifier: Apache-2.0

package s3fakecmd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
	"github.com/cooper-cosi/cooper/fakes/s3fake/s3fakecmd"
)

// TestLike starts the fake in the place of each peer, with the credentials, paths and log lines that tools expect.
func TestLike(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		like, key, secret string
		environment       []string
		health, body      string
		ready             string
	}{
		"LocalStack":               {like: "localstack", key: "test", secret: "test", health: "/_localstack/health", body: `"sqs": "running"`, ready: "Ready."},
		"LocalStack's init stages": {like: "localstack", key: "test", secret: "test", health: "/_localstack/init/ready", body: `"completed": true`, ready: "Ready."},
		"MinIO":                    {like: "minio", key: "minioadmin", secret: "minioadmin", health: "/minio/health/live", ready: "API: http://127.0.0.1:"},
		"MinIO with its variables": {like: "minio", environment: []string{"MINIO_ROOT_USER=me", "MINIO_ROOT_PASSWORD=secret123"}, key: "me", secret: "secret123", health: "/minio/health/ready", ready: "API: "},
		"MinIO with both names": {
			like: "minio", environment: []string{"MINIO_ACCESS_KEY=old", "MINIO_SECRET_KEY=secret456", "MINIO_ROOT_USER=me", "MINIO_ROOT_PASSWORD=secret123"},
			key: "me", secret: "secret123", health: "/minio/health/ready", ready: "API: ",
		},
		"MinIO with a former name of one variable": {
			like: "minio", environment: []string{"MINIO_ACCESS_KEY=old", "MINIO_SECRET_KEY=secret123", "MINIO_ROOT_USER=me"},
			key: "me", secret: "secret123", health: "/minio/health/ready", ready: "API: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := child{fakecmdtest.StartIn(t, test.environment, "--like", test.like)}
			if key, secret := c.Env["AWS_ACCESS_KEY_ID"], c.Env["AWS_SECRET_ACCESS_KEY"]; key != test.key || secret != test.secret {
				t.Errorf("the credentials are %s and %s", key, secret)
			}
			c.WaitFor(t, test.ready)
			fakecmdtest.RequireResponse(t, http.MethodGet, c.Env["AWS_ENDPOINT_URL"]+test.health, http.StatusOK, test.body)
			if _, err := c.s3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("photos")}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOtherAPIsOfMinIO calls an API that only MinIO has. The response must have a message that MinIO's clients can show.
func TestOtherAPIsOfMinIO(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--like", "minio")
	url := c.Env["AWS_ENDPOINT_URL"]
	fakecmdtest.RequireResponse(t, http.MethodGet, url+"/minio/admin/v3/info", http.StatusNotImplemented, "MinIO's API for administrators. Create users with IAM")
}

// TestLikeNothing checks that the peers' public credentials and paths need the flag.
func TestLikeNothing(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	if key := c.Env["AWS_ACCESS_KEY_ID"]; key == "test" || key == "minioadmin" {
		t.Errorf("the access key ID is %s", key)
	}
	fakecmdtest.RequireResponse(t, http.MethodGet, c.Env["AWS_ENDPOINT_URL"]+"/minio/health/live", http.StatusNotFound, "NoSuchBucket")
	c.Env["AWS_ACCESS_KEY_ID"], c.Env["AWS_SECRET_ACCESS_KEY"] = "minioadmin", "minioadmin"
	if _, err := c.s3().ListBuckets(t.Context(), &s3.ListBucketsInput{}); err == nil || !strings.Contains(err.Error(), "InvalidAccessKeyId") {
		t.Errorf("list with MinIO's credentials: %v", err)
	}
}

func TestBadLike(t *testing.T) {
	t.Parallel()
	err := fakecmdtest.Command(s3fakecmd.Prepare).Run(t.Context(), []string{"--like", "azurite"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "this fake can be like localstack or minio") {
		t.Errorf("got %v", err)
	}
}

// TestListenOnAllAddresses checks that the printed URL can be used.
func TestListenOnAllAddresses(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--listen", "0.0.0.0:0")
	if !strings.HasPrefix(c.Env["AWS_ENDPOINT_URL"], "http://127.0.0.1:") {
		t.Errorf("the URL is %s", c.Env["AWS_ENDPOINT_URL"])
	}
	if _, err := c.s3().ListBuckets(t.Context(), &s3.ListBucketsInput{}); err != nil {
		t.Error(err)
	}
}

func TestSeedDir(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--seed-dir", fakecmdtest.SeedDir(t))
	out, err := c.s3().GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String("cats/tom.txt")})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(out.Body)
	if err != nil || string(raw) != "meow" || !strings.HasPrefix(aws.ToString(out.ContentType), "text/plain") {
		t.Errorf("got %q of type %s: %v", raw, aws.ToString(out.ContentType), err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const namespace = "tutorial"

// TestCompose uses compose.yaml as a user would. It kills every container once, and disconnects the driver
// from the store.
func TestCompose(t *testing.T) {
	t.Parallel()
	needs(t, "control-plane", "cosi-controller", "cosi-sidecar", "cosi-driver-s3", "cosi-driver-azure", "cosi-driver-gcs", "cooper")
	s := newStack(t, "fakes")
	s.up()
	granted := variables(s.compose("run", "--rm", "sample"))
	t.Logf("claimed the bucket %s and was granted the key %s", granted["BUCKET_NAME"], granted["AWS_ACCESS_KEY_ID"])
	store := s3Client(t, granted)
	put(t, store, granted["BUCKET_NAME"], "first")
	t.Log("put and got an object with minio-go")
	refusedAtAzure, refusedAtGCS := s.useAzure(), s.useGCS()
	t.Log("the same at Azure with its SDK, and at Cloud Storage with minio-go")

	for index, part := range parts() {
		s.restart(part.service)
		claim := fmt.Sprintf("after-%d", index)
		s.claim(claim, part.cloud)
		s.provisioned(claim)
		put(t, store, granted["BUCKET_NAME"], claim)
		t.Logf("kill -9 of %s: a claim of %s was provisioned after it", part.service, part.cloud)
	}

	network, driver := s.network(), s.container("driver-s3")
	s.docker("network", "disconnect", network, driver)
	s.claim("cut-off", "S3")
	s.failing("cut-off")
	s.docker("network", "connect", network, driver)
	s.provisioned("cut-off")
	t.Log("docker network disconnect of the driver: the claim was provisioned when it was connected again")

	s.kubectl("delete", "--namespace", namespace, "bucketaccess", "--all", "--timeout=90s")
	_, err := store.PutObject(t.Context(), granted["BUCKET_NAME"], "late", strings.NewReader("x"), 1, minio.PutObjectOptions{})
	if got := minio.ToErrorResponse(err).Code; got != minio.InvalidAccessKeyID {
		t.Errorf("the credential after the access is deleted: want %s, got %v", minio.InvalidAccessKeyID, err)
	}
	refusedAtAzure()
	refusedAtGCS()
	t.Logf("revoked: the S3 key is refused (%v), and so are the credentials of Azure and Cloud Storage", err)
	root := s3Client(t, map[string]string{
		"AWS_ENDPOINT_URL": granted["AWS_ENDPOINT_URL"], "AWS_DEFAULT_REGION": granted["AWS_DEFAULT_REGION"],
		"AWS_ACCESS_KEY_ID": "AKIACOOPERCOMPOSE000", "AWS_SECRET_ACCESS_KEY": "only-for-development-on-this-machine",
	})
	empty(t, root, granted["BUCKET_NAME"])
	s.kubectl("delete", "--namespace", namespace, "bucketclaim", "--all", "--timeout=90s")
	s.kubectl("delete", "namespace", namespace, "--timeout=90s")
	if left, err := root.ListBuckets(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("buckets in the store when all claims are deleted: %v %v", left, err)
	}
	t.Log("deleted all claims: there is no bucket left")
}

// parts are all containers of the profile fakes, each with its cloud.
func parts() []struct{ service, cloud string } {
	return []struct{ service, cloud string }{
		{"control-plane", "S3"},
		{"controller", "Azure"},
		{"sidecar-s3", "S3"},
		{"driver-s3", "S3"},
		{"s3", "S3"},
		{"sidecar-azure", "Azure"},
		{"driver-azure", "Azure"},
		{"azure", "Azure"},
		{"sidecar-gcs", "GCS"},
		{"driver-gcs", "GCS"},
		{"gcs", "GCS"},
	}
}

// variables parses the shell variables that the sample prints.
func variables(output string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(output) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && strings.HasPrefix(line, "export ") {
			found[name] = strings.Trim(value, "'")
		}
	}
	return found
}

func s3Client(t *testing.T, granted map[string]string) *minio.Client {
	t.Helper()
	endpoint, err := url.Parse(granted["AWS_ENDPOINT_URL"])
	if err != nil || endpoint.Host == "" {
		t.Fatalf("no endpoint was granted: %v %v", granted["AWS_ENDPOINT_URL"], err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(granted["AWS_ACCESS_KEY_ID"], granted["AWS_SECRET_ACCESS_KEY"], ""),
		Region: granted["AWS_DEFAULT_REGION"], BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// put stores an object and reads it back.
func put(t *testing.T, client *minio.Client, bucket, key string) {
	t.Helper()
	want := "the object " + key
	if _, err := client.PutObject(t.Context(), bucket, key, strings.NewReader(want), int64(len(want)), minio.PutObjectOptions{}); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	object, err := client.GetObject(t.Context(), bucket, key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer object.Close()
	if got, err := io.ReadAll(object); err != nil || string(got) != want {
		t.Fatalf("get %s: %q %v", key, got, err)
	}
}

func empty(t *testing.T, client *minio.Client, bucket string) {
	t.Helper()
	for object := range client.ListObjects(t.Context(), bucket, minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}
		if err := client.RemoveObject(t.Context(), bucket, object.Key, minio.RemoveObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// claim creates a BucketClaim of the sample's class for a cloud.
func (s *stack) claim(name, cloud string) {
	s.t.Helper()
	class := map[string]string{"S3": "sample", "Azure": "azure", "GCS": "gcs"}[cloud]
	manifest := fmt.Sprintf(`apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: %s, namespace: %s}
spec: {bucketClassName: %s, protocols: [%s]}
`, name, namespace, class, cloud)
	_, err := pipe(s.t.Context(), s.environment, manifest, "docker", "compose", "exec", "--no-TTY", "control-plane", "kubectl", "apply", "--filename=-")
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) provisioned(claim string) {
	s.t.Helper()
	s.kubectl("wait", "--namespace", namespace, "--for=condition=Provisioned", "bucketclaim/"+claim, "--timeout=120s")
}

// failing waits until the claim reports why it is not provisioned.
func (s *stack) failing(claim string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	const path = `jsonpath={.items[?(@.reason=="FailedCreateBucket")].note}`
	for {
		out := s.kubectl("get", "--namespace", namespace, "events.events.k8s.io", "--field-selector=regarding.name="+claim, "--output", path)
		if out != "" {
			s.t.Logf("the user reads: %s", out)
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("claim %s does not say that the store cannot be reached", claim)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

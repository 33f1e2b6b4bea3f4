// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/e2e/containers"
)

// TestComposeReal runs the profile real of compose.yaml: MinIO, Azurite and fake-gcs-server.
func TestComposeReal(t *testing.T) {
	t.Parallel()
	needs(t, "control-plane", "cosi-controller", "cosi-sidecar", "cosi-driver-s3", "cosi-driver-azure", "cosi-driver-gcs", "cooper")
	s := newStack(t, "real")
	for variable, image := range map[string]containers.Image{
		"COOPER_MINIO_IMAGE": containers.MinIOImage(), "COOPER_AZURITE_IMAGE": containers.AzuriteImage(), "COOPER_FAKE_GCS_IMAGE": containers.FakeGCSServerImage(),
	} {
		s.environment = append(s.environment, variable+"="+containers.Name(t, image))
	}
	s.up()
	granted := variables(s.compose("run", "--rm", "sample"))
	store := s3Client(t, granted)
	put(t, store, granted["BUCKET_NAME"], "first")
	t.Log("claimed a bucket of MinIO, was granted a key, put and got an object")
	refusedAtAzure := s.useAzure()
	t.Log("the same at Azurite")

	out, err := run(t.Context(), s.environment, "docker", "compose", "run", "--rm", "--env", "COOPER_CLOUD=gcs", "--env", "COOPER_TIMEOUT=60s", "sample")
	if err == nil || !strings.Contains(err.Error(), "without accounts") {
		t.Errorf("an access to fake-gcs-server: want it refused with the reason, got %v\n%s", err, out)
	}
	s.provisioned("gcs")
	t.Log("claimed a bucket of fake-gcs-server; the access was refused with the reason")

	empty(t, store, granted["BUCKET_NAME"])
	s.kubectl("delete", "--namespace", namespace, "bucketaccess", "--all", "--timeout=90s")
	_, err = store.PutObject(t.Context(), granted["BUCKET_NAME"], "late", strings.NewReader("x"), 1, minio.PutObjectOptions{})
	if got := minio.ToErrorResponse(err).Code; got != minio.InvalidAccessKeyID {
		t.Errorf("the credential after the access is deleted: want %s, got %v", minio.InvalidAccessKeyID, err)
	}
	refusedAtAzure()
	s.kubectl("delete", "--namespace", namespace, "bucketclaim", "--all", "--timeout=90s")
	s.kubectl("wait", "--for=delete", "buckets.objectstorage.k8s.io", "--all", "--timeout=90s")
	t.Log("revoked: key and token are refused; deleted: no Bucket is left")
}

// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// tool skips the test in the short run, and when the tool is not installed; the distribution's packages are awscli and rclone. The account
// may use the objects of one bucket.
func tool(t *testing.T, name string) (fake, *processtest.Shell, gcsfake.HMAC, []byte) {
	t.Helper()
	fulltest.Only(t, "other tests do this with an SDK")
	sh := processtest.NewShell(t, name)
	f := start(t, gcsfake.Options{})
	b := f.bucket(t, "tools")
	f.bucket(t, "other")
	email, key := f.account(t, "tool-user")
	bind(t, b, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, b, "roles/storage.legacyBucketReader", "serviceAccount:"+email)
	k, err := f.NewHMAC(email)
	wantNoError(t, err)
	return f, sh, k, key
}

func TestAWSCLI(t *testing.T) {
	t.Parallel()
	f, sh, k, _ := tool(t, "aws")
	sh.Set("AWS_ACCESS_KEY_ID="+k.AccessID, "AWS_SECRET_ACCESS_KEY="+k.Secret, "AWS_DEFAULT_REGION=auto")
	if out, err := sh.Run("aws", "--version"); err != nil {
		t.Skipf("the AWS CLI does not run: %s", out)
	}
	s3 := func(args ...string) []string { return append([]string{"--endpoint-url", f.URL(), "s3"}, args...) }
	sh.Set("AWS_CONFIG_FILE=" + filepath.Join(sh.Dir, "aws.config"))
	wantNoError(t, os.WriteFile(filepath.Join(sh.Dir, "aws.config"), []byte("[default]\ns3 =\n  signature_version = s3v4\n"), 0o600))
	sh.Must("aws", s3("cp", "large.bin", "s3://tools/a/large.bin")...)
	sh.Must("aws", s3("cp", "small.txt", "s3://tools/a/small.txt", "--metadata", "k=v")...)
	if out := sh.Must("aws", s3("ls", "s3://tools/a/")...); !strings.Contains(out, "large.bin") {
		t.Errorf("ls does not show the object: %s", out)
	}
	sh.Must("aws", s3("cp", "s3://tools/a/large.bin", "back.bin")...)
	sh.SameFile("large.bin", "back.bin")
	sh.Must("aws", s3("mv", "s3://tools/a/small.txt", "s3://tools/b/small.txt")...)
	sh.Must("aws", s3("sync", ".", "s3://tools/sync", "--exclude", "*.bin")...)
	sh.Must("aws", s3("rm", "s3://tools", "--recursive")...)
	if out, err := sh.Run("aws", s3("ls", "s3://other")...); err == nil || !strings.Contains(out, "AccessDenied") {
		t.Errorf("the account lists another bucket: %s", out)
	}
}

func TestRcloneWithAnHMACKey(t *testing.T) {
	t.Parallel()
	f, sh, k, _ := tool(t, "rclone")
	const email = "tool-user@" + gcsfake.DefaultProject + ".iam.gserviceaccount.com"
	sh.Set("RCLONE_CONFIG_FAKE_TYPE=s3", "RCLONE_CONFIG_FAKE_PROVIDER=Other", "RCLONE_CONFIG_FAKE_ENDPOINT="+f.URL(), "RCLONE_CONFIG_FAKE_REGION=auto",
		"RCLONE_CONFIG_FAKE_ACCESS_KEY_ID="+k.AccessID, "RCLONE_CONFIG_FAKE_SECRET_ACCESS_KEY="+k.Secret)
	// This rclone always sends an ACL, private, which a bucket with uniform access refuses, at Google as here.
	plain := f.storage(t, f.adminKey(t)).Bucket("plain")
	wantNoError(t, plain.Create(t.Context(), f.ProjectID(), nil))
	bind(t, plain, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, plain, "roles/storage.legacyBucketReader", "serviceAccount:"+email)
	copyAndBack(t, sh, "fake:plain/r")
}

func TestRcloneWithAJSONKey(t *testing.T) {
	t.Parallel()
	f, sh, _, key := tool(t, "rclone")
	path := filepath.Join(t.TempDir(), "key.json")
	wantNoError(t, os.WriteFile(path, key, 0o600))
	sh.Set("RCLONE_CONFIG_FAKE_TYPE=google cloud storage", "RCLONE_CONFIG_FAKE_SERVICE_ACCOUNT_FILE="+path,
		"RCLONE_CONFIG_FAKE_BUCKET_POLICY_ONLY=true", "RCLONE_CONFIG_FAKE_ENDPOINT="+f.URL()+"/storage/v1/")
	copyAndBack(t, sh, "fake:tools/r")
}

// TestGcloud does its ordinary work with Google's own command, which no distribution has.
func TestGcloud(t *testing.T) {
	t.Parallel()
	if !fulltest.Soak() {
		t.Skip("set COOPER_SOAK to try gcloud, which takes seconds to start each time")
	}
	f, sh, _, _ := tool(t, "gcloud")
	token, err := f.Token(f.AdminEmail(""))
	wantNoError(t, err)
	file := filepath.Join(t.TempDir(), "token")
	wantNoError(t, os.WriteFile(file, []byte(token), 0o600))
	sh.Set("CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE="+file, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE="+f.URL()+"/storage/v1/",
		"CLOUDSDK_CORE_PROJECT="+f.ProjectID(), "CLOUDSDK_CORE_DISABLE_PROMPTS=1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true")
	gcloud := func(args ...string) string { return sh.Must("gcloud", append([]string{"storage"}, args...)...) }
	gcloud("buckets", "create", "gs://own", "--location=EU", "--uniform-bucket-level-access")
	gcloud("cp", "small.txt", "gs://own/dir/small.txt")
	gcloud("cp", "large.bin", "gs://own/large.bin")
	gcloud("cp", "gs://own/large.bin", "back.bin")
	sh.SameFile("large.bin", "back.bin")
	gcloud("mv", "gs://own/dir/small.txt", "gs://own/dir/moved.txt")
	gcloud("rm", "gs://own/dir/moved.txt")
	if out := gcloud("ls", "--soft-deleted", "gs://own/dir/"); !strings.Contains(out, "moved.txt#") {
		t.Errorf("soft-deleted are %s", out)
	}
	gcloud("restore", "gs://own/dir/moved.txt")
	gcloud("buckets", "update", "gs://own", "--versioning", "--update-labels=a=b")
	gcloud("rsync", ".", "gs://own/sync")
	gcloud("rm", "-r", "gs://own")
}

func copyAndBack(t *testing.T, sh *processtest.Shell, place string) {
	t.Helper()
	sh.Set("RCLONE_CONFIG=" + filepath.Join(sh.Dir, "rclone.conf"))
	flags := []string{"--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M", "--s3-no-check-bucket", "--retries", "1", "--exclude", "rclone.conf"}
	rclone := func(args ...string) { sh.Must("rclone", append(args, flags...)...) }
	rclone("copy", "large.bin", place)
	rclone("copy", "small.txt", place)
	rclone("copy", place, "back")
	sh.SameFile("large.bin", "back/large.bin")
	rclone("check", place, "back")
	rclone("delete", place)
}

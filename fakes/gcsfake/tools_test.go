// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/fulltest"
)

// shell runs a tool of the distribution.
type shell struct {
	dir string
	env []string
}

func (s shell) run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (s shell) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := s.run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (s shell) sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err1 := os.ReadFile(filepath.Join(s.dir, a))
	y, err2 := os.ReadFile(filepath.Join(s.dir, b))
	if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ (%v, %v)", a, b, err1, err2)
	}
}

// tool skips the test when the tool is not installed; the distribution's packages are awscli and rclone. The account
// may use the objects of one bucket.
func tool(t *testing.T, name string) (fake, shell, gcsfake.HMAC, []byte) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	f := start(t, gcsfake.Options{})
	b := f.bucket(t, "tools")
	f.bucket(t, "other")
	email, key := f.account(t, "tool-user")
	bind(t, b, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, b, "roles/storage.legacyBucketReader", "serviceAccount:"+email)
	k, err := f.NewHMAC(email)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, n := range map[string]int{"small.txt": 100, "large.bin": 20 << 20} {
		if err := os.WriteFile(filepath.Join(dir, file), body(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_CA_BUNDLE=") {
			env = append(env, v)
		}
	}
	return f, shell{dir, append(env, "HOME="+dir)}, k, key
}

func TestAWSCLI(t *testing.T) {
	t.Parallel()
	f, sh, k, _ := tool(t, "aws")
	sh.env = append(sh.env, "AWS_ACCESS_KEY_ID="+k.AccessID, "AWS_SECRET_ACCESS_KEY="+k.Secret, "AWS_DEFAULT_REGION=auto", "AWS_EC2_METADATA_DISABLED=true")
	if out, err := sh.run(t, "aws", "--version"); err != nil {
		t.Skipf("the AWS CLI does not run: %s", out)
	}
	s3 := func(args ...string) []string { return append([]string{"--endpoint-url", f.URL(), "s3"}, args...) }
	sh.env = append(sh.env, "AWS_CONFIG_FILE="+filepath.Join(sh.dir, "aws.config"))
	if err := os.WriteFile(filepath.Join(sh.dir, "aws.config"), []byte("[default]\ns3 =\n  signature_version = s3v4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sh.must(t, "aws", s3("cp", "large.bin", "s3://tools/a/large.bin")...)
	sh.must(t, "aws", s3("cp", "small.txt", "s3://tools/a/small.txt", "--metadata", "k=v")...)
	if out := sh.must(t, "aws", s3("ls", "s3://tools/a/")...); !strings.Contains(out, "large.bin") {
		t.Errorf("ls does not show the object: %s", out)
	}
	sh.must(t, "aws", s3("cp", "s3://tools/a/large.bin", "back.bin")...)
	sh.sameFile(t, "large.bin", "back.bin")
	sh.must(t, "aws", s3("mv", "s3://tools/a/small.txt", "s3://tools/b/small.txt")...)
	sh.must(t, "aws", s3("sync", ".", "s3://tools/sync", "--exclude", "*.bin")...)
	sh.must(t, "aws", s3("rm", "s3://tools", "--recursive")...)
	if out, err := sh.run(t, "aws", s3("ls", "s3://other")...); err == nil || !strings.Contains(out, "AccessDenied") {
		t.Errorf("the account lists another bucket: %s", out)
	}
}

func TestRcloneWithAnHMACKey(t *testing.T) {
	t.Parallel()
	f, sh, k, _ := tool(t, "rclone")
	const email = "tool-user@" + gcsfake.DefaultProject + ".iam.gserviceaccount.com"
	sh.env = append(sh.env, "RCLONE_CONFIG_FAKE_TYPE=s3", "RCLONE_CONFIG_FAKE_PROVIDER=Other", "RCLONE_CONFIG_FAKE_ENDPOINT="+f.URL(), "RCLONE_CONFIG_FAKE_REGION=auto",
		"RCLONE_CONFIG_FAKE_ACCESS_KEY_ID="+k.AccessID, "RCLONE_CONFIG_FAKE_SECRET_ACCESS_KEY="+k.Secret)
	// This rclone always sends an ACL, private, which a bucket with uniform access refuses, at Google as here.
	plain := f.storage(t, f.adminKey(t)).Bucket("plain")
	if err := plain.Create(t.Context(), f.ProjectID(), nil); err != nil {
		t.Fatal(err)
	}
	bind(t, plain, "roles/storage.objectUser", "serviceAccount:"+email)
	bind(t, plain, "roles/storage.legacyBucketReader", "serviceAccount:"+email)
	copyAndBack(t, sh, "fake:plain/r")
}

func TestRcloneWithAJSONKey(t *testing.T) {
	t.Parallel()
	f, sh, _, key := tool(t, "rclone")
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
	sh.env = append(sh.env, "RCLONE_CONFIG_FAKE_TYPE=google cloud storage", "RCLONE_CONFIG_FAKE_SERVICE_ACCOUNT_FILE="+path,
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
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	sh.env = append(sh.env, "CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE="+file, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE="+f.URL()+"/storage/v1/",
		"CLOUDSDK_CORE_PROJECT="+f.ProjectID(), "CLOUDSDK_CORE_DISABLE_PROMPTS=1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true")
	gcloud := func(args ...string) string { return sh.must(t, "gcloud", append([]string{"storage"}, args...)...) }
	gcloud("buckets", "create", "gs://own", "--location=EU", "--uniform-bucket-level-access")
	gcloud("cp", "small.txt", "gs://own/dir/small.txt")
	gcloud("cp", "large.bin", "gs://own/large.bin")
	gcloud("cp", "gs://own/large.bin", "back.bin")
	sh.sameFile(t, "large.bin", "back.bin")
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

func copyAndBack(t *testing.T, sh shell, place string) {
	t.Helper()
	sh.env = append(sh.env, "RCLONE_CONFIG="+filepath.Join(sh.dir, "rclone.conf"))
	flags := []string{"--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M", "--s3-no-check-bucket", "--retries", "1", "--exclude", "rclone.conf"}
	rclone := func(args ...string) { sh.must(t, "rclone", append(args, flags...)...) }
	rclone("copy", "large.bin", place)
	rclone("copy", "small.txt", place)
	rclone("copy", place, "back")
	sh.sameFile(t, "large.bin", "back/large.bin")
	rclone("check", place, "back")
	rclone("delete", place)
}

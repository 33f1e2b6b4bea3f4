// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// tool skips the test in the short run, and when the tool is not installed; the distribution's packages are awscli, s3cmd, rclone, restic. The
// credentials are those of a user made through the fake's own IAM.
func tool(t *testing.T, name string) (fake, *processtest.Shell, s3fake.Credentials) {
	t.Helper()
	fulltest.Only(t, "other tests do this with an SDK")
	sh := processtest.NewShell(t, name)
	f := start(t, s3fake.Options{})
	f.bucket(t, "errands")
	c := f.user(t, "tool", allow("s3:*", "*"))
	sh.Set("AWS_ACCESS_KEY_ID="+c.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+c.SecretAccessKey, "AWS_DEFAULT_REGION=us-east-1", "AWS_ENDPOINT_URL="+f.URL())
	return f, sh, c
}

func TestAWSCLI(t *testing.T) {
	t.Parallel()
	f, sh, _ := tool(t, "aws")
	s3 := func(args ...string) []string { return append([]string{"--endpoint-url", f.URL(), "s3"}, args...) }
	sh.Must("aws", s3("cp", "large.bin", "s3://errands/a/large.bin")...)
	sh.Must("aws", s3("cp", "small.txt", "s3://errands/a/small.txt", "--metadata", "k=v")...)
	if out := sh.Must("aws", s3("ls", "s3://errands/a/")...); !strings.Contains(out, "large.bin") {
		t.Errorf("ls does not show the object: %s", out)
	}
	sh.Must("aws", s3("cp", "s3://errands/a/large.bin", "back.bin")...)
	sh.SameFile("large.bin", "back.bin")
	sh.Must("aws", s3("mv", "s3://errands/a/small.txt", "s3://errands/b/small.txt")...)
	sh.Must("aws", s3("sync", ".", "s3://errands/sync", "--exclude", "back.bin")...)
	url := strings.TrimSpace(sh.Must("aws", s3("presign", "s3://errands/b/small.txt")...))
	resp, err := f.http.Get(url)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("presigned URL: %v %v", resp, err)
	} else if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	sh.Must("aws", s3("rb", "--force", "s3://errands")...) // which empties it first
	if out, err := sh.Run("aws", "--endpoint-url", f.URL(), "iam", "list-users"); err == nil || !strings.Contains(out, "AccessDenied") {
		t.Errorf("a user without iam permissions lists users: %s", out)
	}
}

func TestS3cmd(t *testing.T) {
	t.Parallel()
	f, sh, c := tool(t, "s3cmd")
	host := strings.TrimPrefix(f.URL(), "http://")
	s3cmd := func(args ...string) []string {
		return append([]string{"--no-ssl", "--host=" + host, "--host-bucket=" + host, "--access_key=" + c.AccessKeyID, "--secret_key=" + c.SecretAccessKey, "--region=us-east-1"}, args...)
	}
	sh.Must("s3cmd", s3cmd("mb", "s3://mine")...)
	sh.Must("s3cmd", s3cmd("put", "large.bin", "small.txt", "s3://mine/")...)
	if out := sh.Must("s3cmd", s3cmd("ls", "s3://mine")...); !strings.Contains(out, "large.bin") {
		t.Errorf("ls does not show the object: %s", out)
	}
	sh.Must("s3cmd", s3cmd("get", "s3://mine/large.bin", "back.bin")...)
	sh.SameFile("large.bin", "back.bin")
	// No cp: s3cmd 2.3 puts an ACL after it, which buckets without ACLs refuse, on AWS as here.
	sh.Must("s3cmd", s3cmd("del", "--recursive", "--force", "s3://mine")...)
	sh.Must("s3cmd", s3cmd("rb", "s3://mine")...)
}

func TestRclone(t *testing.T) {
	t.Parallel()
	f, sh, c := tool(t, "rclone")
	sh.Set("RCLONE_CONFIG_FAKE_TYPE=s3", "RCLONE_CONFIG_FAKE_PROVIDER=Other", "RCLONE_CONFIG_FAKE_ENDPOINT="+f.URL(), "RCLONE_CONFIG_FAKE_REGION=us-east-1",
		"RCLONE_CONFIG_FAKE_ACCESS_KEY_ID="+c.AccessKeyID, "RCLONE_CONFIG_FAKE_SECRET_ACCESS_KEY="+c.SecretAccessKey, "RCLONE_CONFIG="+filepath.Join(sh.Dir, "rclone.conf"))
	sh.Must("rclone", "copy", "large.bin", "fake:errands/r", "--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M")
	sh.Must("rclone", "copy", "small.txt", "fake:errands/r")
	sh.Must("rclone", "copy", "fake:errands/r", "back")
	sh.SameFile("large.bin", "back/large.bin")
	sh.Must("rclone", "check", "fake:errands/r", "back")
	sh.Must("rclone", "purge", "fake:errands/r")
}

func TestRestic(t *testing.T) {
	t.Parallel()
	f, sh, _ := tool(t, "restic")
	sh.Set("RESTIC_REPOSITORY=s3:"+f.URL()+"/errands/restic", "RESTIC_PASSWORD=x", "RESTIC_CACHE_DIR="+filepath.Join(sh.Dir, "cache"))
	sh.Must("restic", "init")
	sh.Must("restic", "backup", "large.bin", "small.txt")
	sh.Must("restic", "check")
	sh.Must("restic", "restore", "latest", "--target", "back")
	sh.Must("restic", "forget", "latest", "--prune")
}

// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// TestAWSCLI uses the HMAC pair of a grant in a shell, as many do.
func TestAWSCLI(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "aws", "--version").CombinedOutput(); err != nil {
		t.Skipf("the AWS CLI does not run: %v %s", err, out)
	}
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	given := w.MustGrant(t, request).GetCredentials().GetGcs()
	dir := t.TempDir()
	aws := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "aws", slices.Concat([]string{"--endpoint-url", w.google.URL(), "s3"}, args)...)
		cmd.Dir = dir
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
		cmd.Env = append(cmd.Env, "HOME="+dir, "AWS_ACCESS_KEY_ID="+given.GetAccessId(), "AWS_SECRET_ACCESS_KEY="+given.GetAccessSecret(), "AWS_DEFAULT_REGION=auto", "AWS_EC2_METADATA_DISABLED=true")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cp", "file", "s3://" + bucket + "/dir/file"}, {"cp", "s3://" + bucket + "/dir/file", "back"}, {"ls", "s3://" + bucket + "/dir/"}, {"rm", "s3://" + bucket + "/dir/file"}} {
		if out, err := aws(args...); err != nil {
			t.Fatalf("aws s3 %v: %v\n%s", args, err, out)
		}
	}
	if back, err := os.ReadFile(filepath.Join(dir, "back")); err != nil || string(back) != "hello" {
		t.Errorf("came back: %q, %v", back, err)
	}
	if out, err := aws("cp", "file", "s3://"+other+"/file"); err == nil || !strings.Contains(out, "AccessDenied") {
		t.Errorf("another bucket: %v\n%s", err, out)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if out, err := aws("ls", "s3://"+bucket); err == nil || !strings.Contains(out, "InvalidAccessKeyId") {
		t.Errorf("after revoke: %v\n%s", err, out)
	}
}

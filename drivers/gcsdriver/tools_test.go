// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// TestAWSCLI uses the HMAC pair of a grant in a shell, as many do.
func TestAWSCLI(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestConformance uses the pair with an SDK")
	sh := processtest.NewShell(t, "aws")
	if out, err := sh.Run("aws", "--version"); err != nil {
		t.Skipf("the AWS CLI does not run: %v %s", err, out)
	}
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	given := w.MustGrant(t, request).GetCredentials().GetGcs()
	sh.Set("AWS_ACCESS_KEY_ID="+given.GetAccessId(), "AWS_SECRET_ACCESS_KEY="+given.GetAccessSecret(), "AWS_DEFAULT_REGION=auto")
	s3 := func(args ...string) []string {
		return append([]string{"--endpoint-url", w.google.URL(), "s3"}, args...)
	}
	sh.Must("aws", s3("cp", processtest.SmallFile, "s3://"+bucket+"/dir/file")...)
	sh.Must("aws", s3("cp", "s3://"+bucket+"/dir/file", "back")...)
	sh.Must("aws", s3("ls", "s3://"+bucket+"/dir/")...)
	sh.Must("aws", s3("rm", "s3://"+bucket+"/dir/file")...)
	sh.SameFile(processtest.SmallFile, "back")
	sh.Refused("AccessDenied", "aws", s3("cp", processtest.SmallFile, "s3://"+other+"/file")...)
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	sh.Refused("InvalidAccessKeyId", "aws", s3("ls", "s3://"+bucket)...)
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// removeAccount removes the user of a delivered key, as the store's administrator does.
func (on target) removeAccount(t *testing.T, account, keyID string) {
	t.Helper()
	if on.backend.Type == s3driver.TypeAWS {
		endpoint := on.backend.IAM.Endpoint
		if endpoint == "" {
			endpoint = on.backend.Endpoint
		}
		removeUser(t, iam.New(iam.Options{BaseEndpoint: aws.String(endpoint), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)}), account)
		return
	}
	client := &adminapi.Client{
		Name: string(on.backend.Type), Endpoint: on.backend.Endpoint, Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret), HTTP: http.DefaultClient,
	}
	request := adminapi.Request{Operation: "remove", Method: http.MethodDelete, Path: "/minio/admin/v3/remove-user", Query: url.Values{"accessKey": {keyID}}}
	if on.backend.Type == s3driver.TypeVersityGW {
		request = adminapi.Request{Operation: "remove", Method: http.MethodPatch, Path: "/delete-user", Query: url.Values{"access": {keyID}}}
	}
	if _, err := client.Call(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// testBucketAndUserRemovedByHand are made again by the next calls, and hold up no deletion.
func testBucketAndUserRemovedByHand(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := grantRequest(account, readWrite, bucket)
	granted := w.MustGrant(t, request)
	removeBucket := func() {
		t.Helper()
		if _, err := w.root().DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
	}

	removeBucket()
	_, err := w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.NotFound, bucket)
	_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.NotFound, bucket)
	w.mustCreate(t, bucket, nil)
	again := w.MustGrant(t, request)
	if diff := cmp.Diff(granted, again, protocmp.Transform()); diff != "" {
		t.Errorf("the access to the bucket that was made again differs:\n%s", diff)
	}
	mustSucceed(t, putObject(t, workload(t, again), bucket, "key"))

	on.removeAccount(t, account, again.GetCredentials().GetS3().GetAccessKeyId())
	again = w.MustGrant(t, request)
	mustSucceed(t, putObject(t, workload(t, again), bucket, "key"))
	on.removeAccount(t, account, again.GetCredentials().GetS3().GetAccessKeyId())
	_, err = w.root().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("key")})
	mustSucceed(t, err)
	removeBucket()
	mustSucceed(t, w.revoke(t, account, bucket))
	mustSucceed(t, w.Delete(t, bucket, nil))
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func testWholeLife(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	granted := w.MustGrant(t, grantRequest(account, readWrite, bucket))
	client := workload(t, granted)
	if err := putObject(t, client, bucket, "key"); err != nil {
		t.Errorf("put: %v", err)
	}
	if err := getObject(t, client, bucket, "key"); err != nil {
		t.Errorf("get: %v", err)
	}
	drivertest.WantCode(t, w.Delete(t, bucket, nil), codes.FailedPrecondition, "not empty", "deleteNonEmpty")
	for range 2 {
		if err := w.revoke(t, account, bucket); err != nil {
			t.Fatalf("revoke: %v", err)
		}
	}
	if code := apiCode(t, getObject(t, client, bucket, "key")); code != "InvalidAccessKeyId" {
		t.Errorf("after revoke the response to the key is %q", code)
	}
	for range 2 {
		if err := w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true", "unknown": "ignored"}); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.NotFound, bucket)
}

func testRepeatedCallsReturnTheSame(t *testing.T, on target) {
	store := credstore.NewMemory()
	w := newWorld(t, on, worldOptions{store: store})
	parameters := map[string]string{"versioning": "true", "tags": `{"team":"a"}`}
	bucket, account := w.NewBucket(t, parameters), drivertest.NewAccount()
	first := w.MustGrant(t, grantRequest(account, readWrite, bucket))
	info := w.mustCreate(t, bucket, parameters)

	restarted := newWorld(t, on, worldOptions{store: store})
	if diff := cmp.Diff(info, restarted.mustCreate(t, bucket, parameters), protocmp.Transform()); diff != "" {
		t.Errorf("the bucket is described differently after a restart:\n%s", diff)
	}
	for range 2 {
		if diff := cmp.Diff(first, restarted.MustGrant(t, grantRequest(account, readWrite, bucket)), protocmp.Transform()); diff != "" {
			t.Errorf("the grant returns something else after a restart:\n%s", diff)
		}
	}
}

func testBucketOfOtherParameters(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Parameters: map[string]string{"versioning": "true"}})
	drivertest.WantCode(t, err, codes.AlreadyExists, bucket)
	out, err := w.root().GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket})
	if err != nil || out.Status != "" {
		t.Errorf("versioning is %q, %v: the refused request changed the bucket", out.Status, err)
	}
}

func testForeignBucketIsLeftAlone(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := "bc-" + uuid.NewString()
	if _, err := w.root().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.AlreadyExists, bucket, "left alone")
	drivertest.WantCode(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	if _, err := w.root().HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &bucket}); err != nil {
		t.Errorf("the foreign bucket is gone: %v", err)
	}
	if _, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket}); err != nil {
		t.Errorf("static provisioning: %v", err)
	}
	granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
	if err := putObject(t, workload(t, granted), bucket, "key"); err != nil {
		t.Errorf("put into a static bucket: %v", err)
	}
}

func testStaticBucketMustFitItsParameters(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	get := func(parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: parameters})
		return err
	}
	drivertest.WantCode(t, get(map[string]string{"versioning": "true"}), codes.AlreadyExists, "versioning")
	drivertest.WantCode(t, get(map[string]string{"objectLock": "true"}), codes.AlreadyExists, "object lock")
	drivertest.WantCode(t, get(map[string]string{"region": "mars-1"}), codes.InvalidArgument, "mars-1")
	drivertest.WantCode(t, get(nil), codes.OK)
}

func testAccountOfOtherBucketsOrModes(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	first, second, account := w.NewBucket(t, nil), w.NewBucket(t, nil), drivertest.NewAccount()
	granted := w.MustGrant(t, grantRequest(account, readWrite, first))
	for name, request := range map[string]*cosi.DriverGrantBucketAccessRequest{
		"another bucket": grantRequest(account, readWrite, second),
		"more buckets":   grantRequest(account, readWrite, first, second),
		"another mode":   grantRequest(account, drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}, first),
	} {
		if _, err := w.DriverGrantBucketAccess(t.Context(), request); err == nil {
			t.Errorf("%s: granted", name)
		} else {
			drivertest.WantCode(t, err, codes.AlreadyExists, account)
		}
	}
	if code := apiCode(t, putObject(t, workload(t, granted), second, "key")); code != "AccessDenied" {
		t.Errorf("a refused grant opened the other bucket: %q", code)
	}
}

func testRotationKeepsExactlyThePreviousKey(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	var clients []*s3.Client
	for _, rotation := range []string{"", "first", "second", "third"} {
		request := grantRequest(account, readWrite, bucket)
		request.Rotation = rotation
		granted := w.MustGrant(t, request)
		if diff := cmp.Diff(granted, w.MustGrant(t, request), protocmp.Transform()); diff != "" {
			t.Fatalf("rotation %q repeated:\n%s", rotation, diff)
		}
		clients = append(clients, workload(t, granted))
		for i, client := range clients {
			want := ""
			if i < len(clients)-2 {
				want = "InvalidAccessKeyId"
			}
			if code := apiCode(t, putObject(t, client, bucket, "key")); code != want {
				t.Errorf("after rotation %q, key %d of %d: %q, want %q", rotation, i+1, len(clients), code, want)
			}
		}
	}
}

func testDeleteNonEmptyRemovesVersionsMarkersAndUploads(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	parameters := map[string]string{"versioning": "true", "deleteNonEmpty": "true"}
	bucket, root := w.NewBucket(t, parameters), w.root()
	for range 3 {
		for _, key := range []string{"a", "b/c", "ü + %"} {
			if err := putObject(t, root, bucket, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := root.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("upload")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t, bucket, parameters); err != nil {
		t.Fatal(err)
	}
	_, err := root.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &bucket})
	if code := apiCode(t, err); code != "NotFound" {
		t.Errorf("head returns %q, want NotFound", code)
	}
}

func testLostCredentialStoreDeletesNoLiveKey(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := workload(t, w.MustGrant(t, grantRequest(account, readWrite, bucket)))

	other := newWorld(t, on, worldOptions{})
	_, err := other.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "credential store lost", account)
	drivertest.WantCode(t, other.revoke(t, account, bucket), codes.FailedPrecondition, "credential store lost")
	if err := putObject(t, client, bucket, "key"); err != nil {
		t.Errorf("the delivered key does not work any more: %v", err)
	}
	if err := w.revoke(t, account, bucket); err != nil {
		t.Errorf("revoke with the right store: %v", err)
	}
}

func testGrantOnMissingBucketLeavesNoAccount(t *testing.T, on target) {
	store := credstore.NewMemory()
	w := newWorld(t, on, worldOptions{store: store})
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, "bc-"+uuid.NewString()))
	drivertest.WantCode(t, err, codes.NotFound, "does not exist")
	if accounts := store.Accounts(); len(accounts) != 0 {
		t.Errorf("stored credentials of %v", accounts)
	}
}

func testRevokeAfterTheBucketIsGone(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	w.MustGrant(t, grantRequest(account, readWrite, bucket))
	if err := w.Delete(t, bucket, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.revoke(t, account, bucket); err != nil {
		t.Errorf("revoke: %v", err)
	}
}

func testStoreThatIsDown(t *testing.T, on target) {
	on.backend.Endpoint = "http://" + freeAddress(t)
	w := newWorld(t, on, worldOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := w.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
	drivertest.WantCode(t, err, codes.Unavailable, "cannot be reached")
}

func testWrongLogin(t *testing.T, on target) {
	for name, secret := range map[string]string{"wrong secret": "wrong", "wrong key": rootSecretKey} {
		broken := on
		broken.backend.Credentials.SecretAccessKey = cosi.NewSecret(secret)
		if name == "wrong key" {
			broken.backend.Credentials.AccessKeyID = "AKIAUNKNOWN"
		}
		w := newWorld(t, broken, worldOptions{})
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + uuid.NewString()})
		drivertest.WantCode(t, err, codes.Unauthenticated, "credentials")
	}
}

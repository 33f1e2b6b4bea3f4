// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
)

const (
	anyMode   = cosi.AccessMode_ANY
	readOnly  = cosi.AccessMode_READ_ONLY
	writeOnly = cosi.AccessMode_WRITE_ONLY
	both      = cosi.AccessMode_READ_WRITE
)

// attempt is an operation that a workload attempts.
type attempt struct {
	name string
	// allowed reports whether a mode allows it.
	allowed func(asked drivertest.Modes) bool
	try     func(t *testing.T, client *s3.Client, bucket string) error
}

func reads(m cosi.AccessMode_Mode) bool { return m == readOnly || m == both }

func writes(m cosi.AccessMode_Mode) bool { return m == writeOnly || m == both }

func never(drivertest.Modes) bool { return false }

// attempts are ordered so that each finds its prerequisites: root created "given".
func attempts() []attempt {
	readsData := func(m drivertest.Modes) bool { return reads(m.Data) }
	writesData := func(m drivertest.Modes) bool { return writes(m.Data) }
	readsTags := func(m drivertest.Modes) bool { return reads(m.ObjectMetadata) }
	writesTags := func(m drivertest.Modes) bool { return writes(m.ObjectMetadata) }
	readsBucket := func(m drivertest.Modes) bool { return reads(m.BucketMetadata) }
	given, made := aws.String("given"), aws.String("made")
	tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
	return []attempt{
		{"get an object", readsData, func(t *testing.T, c *s3.Client, b string) error { t.Helper(); return getObject(t, c, b, "given") }},
		{"head an object", readsData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b, Key: given})
			return err
		}},
		{"list objects", readsData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b})
			return err
		}},
		{"put an object", writesData, func(t *testing.T, c *s3.Client, b string) error { t.Helper(); return putObject(t, c, b, "made") }},
		{"begin an upload", writesData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &b, Key: made})
			return err
		}},
		{"delete an object", writesData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b, Key: made})
			return err
		}},
		{"copy an object", func(m drivertest.Modes) bool { return readsData(m) && writesData(m) }, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: &b, Key: made, CopySource: aws.String(b + "/given")})
			return err
		}},
		{"delete several objects", writesData, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			return deleteObjects(t, c, b, types.ObjectIdentifier{Key: made})
		}},
		{"read tags of an object", readsTags, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: &b, Key: given})
			return err
		}},
		{"write tags of an object", writesTags, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: &b, Key: given, Tagging: tags})
			return err
		}},
		{"read the bucket's tags", readsBucket, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &b})
			return err
		}},
		{"read the bucket's versioning", readsBucket, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &b})
			return err
		}},
		{"write the bucket's tags", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: &b, Tagging: tags})
			return err
		}},
		{"change the bucket's versioning", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket: &b, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
			})
			return err
		}},
		{"change the bucket's policy", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &b, Policy: aws.String(`{"Version":"2012-10-17","Statement":[]}`)})
			return err
		}},
		{"delete the bucket", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &b})
			return err
		}},
		{"make a bucket", never, func(t *testing.T, c *s3.Client, b string) error {
			t.Helper()
			_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("x" + b)})
			return err
		}},
	}
}

// deleteObjects deletes several objects in one call, which may succeed as a whole and report errors for single
// objects.
func deleteObjects(t *testing.T, client *s3.Client, bucket string, objects ...types.ObjectIdentifier) error {
	t.Helper()
	out, err := client.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: objects}}, func(o *s3.Options) {
		o.RetryMaxAttempts = 3 // Ceph may close the connection while it sends the response; workloads retry, too
	})
	if err != nil || len(out.Errors) == 0 {
		return err
	}
	return &smithy.GenericAPIError{Code: aws.ToString(out.Errors[0].Code), Message: aws.ToString(out.Errors[0].Message)}
}

// testModesByTrying grants every combination of modes and attempts all operations with it.
func testModesByTrying(t *testing.T, on target) {
	asked := []drivertest.Modes{
		{Data: readOnly, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: writeOnly, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: anyMode, BucketMetadata: anyMode},
		{Data: readOnly, ObjectMetadata: readOnly, BucketMetadata: anyMode},
		{Data: writeOnly, ObjectMetadata: writeOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: readOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: writeOnly, BucketMetadata: anyMode},
		{Data: both, ObjectMetadata: both, BucketMetadata: anyMode},
		{Data: anyMode, ObjectMetadata: anyMode, BucketMetadata: readOnly},
		{Data: both, ObjectMetadata: both, BucketMetadata: readOnly},
		{Data: readOnly, ObjectMetadata: anyMode, BucketMetadata: readOnly},
	}
	w := newWorld(t, on, worldOptions{})
	other := w.NewBucket(t, nil)
	mustSucceed(t, putObject(t, w.root(), other, "given"))
	for _, asked := range asked {
		name := fmt.Sprintf("data %v, object metadata %v, bucket metadata %v", asked.Data, asked.ObjectMetadata, asked.BucketMetadata)
		t.Run(name, func(t *testing.T) {
			bucket := w.NewBucket(t, nil)
			mustSucceed(t, putObject(t, w.root(), bucket, "given"))
			client := workload(t, w.MustGrant(t, grantRequest(drivertest.NewAccount(), asked, bucket)))
			for _, attempt := range attempts() {
				code := apiCode(t, attempt.try(t, client, bucket))
				if allowed := attempt.allowed(asked); (code == "") != allowed || !allowed && !isDenial(code) {
					t.Errorf("%s: answered with %q, allowed is %t", attempt.name, code, allowed)
				}
			}
			if code := apiCode(t, getObject(t, client, other, "given")); !isDenial(code) {
				t.Errorf("reading another bucket: answered with %q", code)
			}
			if code := apiCode(t, putObject(t, client, other, "made")); !isDenial(code) {
				t.Errorf("writing to another bucket: answered with %q", code)
			}
		})
	}
}

// isDenial recognizes responses with a body and those of HEAD, which have none.
func isDenial(code string) bool {
	return code == "AccessDenied" || code == "Forbidden"
}

func testLostCredentialStoreDeletesNoLiveKey(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	granted := w.MustGrant(t, grantRequest(account, readWrite, bucket))
	client := workload(t, granted)

	other := newWorld(t, on, worldOptions{})
	if slices.Contains(on.can, readableKeys) { // nothing is lost with it
		if diff := cmp.Diff(granted, other.MustGrant(t, grantRequest(account, readWrite, bucket)), protocmp.Transform()); diff != "" {
			t.Errorf("the grant returns something else without the store:\n%s", diff)
		}
		mustSucceed(t, putObject(t, client, bucket, "key"))
		mustSucceed(t, other.revoke(t, account, bucket))
		if code := apiCode(t, putObject(t, client, bucket, "key")); code != "InvalidAccessKeyId" {
			t.Errorf("after revoke: %q", code)
		}
		return
	}
	_, err := other.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "credential store lost", account)
	drivertest.WantCode(t, other.revoke(t, account, bucket), codes.FailedPrecondition, "credential store lost")
	if err := putObject(t, client, bucket, "key"); err != nil {
		t.Errorf("the delivered key no longer works: %v", err)
	}
	if err := w.revoke(t, account, bucket); err != nil {
		t.Errorf("revoke with the right store: %v", err)
	}
}

// removeAccount removes the user of a delivered key, like the store's administrator.
func (on target) removeAccount(t *testing.T, account, keyID string) {
	t.Helper()
	if on.backend.Type == s3driver.TypeSeaweedFS {
		removeSeaweedFSUser(t, on.iamOfRoot(), account)
		return
	}
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
	if on.backend.Type == s3driver.TypeRGW {
		request = adminapi.Request{Operation: "remove", Method: http.MethodDelete, Path: "/admin/user", Query: url.Values{"uid": {account}}}
	}
	if _, err := client.Call(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// testBucketAndUserRemovedByHand checks that the next calls recreate a bucket and a user that were removed manually,
// and that deletions succeed.
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

func TestStaticBackend(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	on.backend.Type = s3driver.TypeStatic
	on.backend.Workloads = on.backend.Credentials
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	accepted := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	accepted.Parameters = map[string]string{"acceptSharedCredential": "true"}
	granted := w.MustGrant(t, accepted)
	if err := putObject(t, workload(t, granted), bucket, "key"); err != nil || !granted.GetSharedCredential() {
		t.Errorf("the shared key does not work, or is not said to be shared: %v", err)
	}
	refused := map[string]struct {
		change func(*cosi.DriverGrantBucketAccessRequest)
		want   string
	}{
		"a class that does not accept it": {func(r *cosi.DriverGrantBucketAccessRequest) { r.Parameters = nil }, "acceptSharedCredential"},
		"a rotation":                      {func(r *cosi.DriverGrantBucketAccessRequest) { r.Rotation = "r1" }, "configuration"},
		"read-only access": {func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets[0].ObjectDataAccessMode.Mode = readOnly
		}, "cannot be limited"},
		"access without deletion": {func(r *cosi.DriverGrantBucketAccessRequest) { r.Parameters["allowDelete"] = "false" }, "cannot be limited"},
	}
	for name, test := range refused {
		request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
		request.Parameters = map[string]string{"acceptSharedCredential": "true"}
		test.change(request)
		_, err := w.DriverGrantBucketAccess(t.Context(), request)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want InvalidArgument with %q", name, err, test.want)
		}
	}
	if err := w.revoke(t, accepted.GetAccountId(), bucket); err != nil {
		t.Errorf("revoke: %v", err)
	}
}

func TestAccountIDNamesItsBackend(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	for bucket, want := range map[string]string{"b": "ba-1", "main.b": "ba-1", "lab.b": "lab.ba-1", "unknown.b": "ba-1"} {
		got, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: readBucket(bucket)})
		if err != nil || got != want {
			t.Errorf("bucket %s: account ID %q, %v, want %q", bucket, got, err, want)
		}
	}
}

// TestUpstreamsSidecar makes the calls of the upstream project's v1alpha2, where 2 is ReadOnly, and tests the
// resulting credentials.
func TestUpstreamsSidecar(t *testing.T) {
	t.Parallel()
	second := drivertest.Endpoint(t)
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{serve: driverkit.Options{UpstreamEndpoint: second}})
	client := upstream.NewClient(drivertest.Dial(t, second).Conn)
	created, err := client.DriverCreateBucket(t.Context(), &upstream.DriverCreateBucketRequest{Name: "bc-" + uuid.NewString()})
	mustSucceed(t, err)
	bucket := created.GetBucketId()
	mustSucceed(t, putObject(t, w.root(), bucket, "given"))
	for mode, may := range map[upstream.AccessMode_Mode]struct{ read, write bool }{1: {true, true}, 2: {read: true}, 3: {write: true}} {
		request := &upstream.DriverGrantBucketAccessRequest{
			AccountName: drivertest.NewAccount(), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
			AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
			Buckets: []*upstream.DriverGrantBucketAccessRequest_AccessedBucket{{
				BucketId: bucket, AccessMode: &upstream.AccessMode{Mode: mode},
			}},
		}
		granted, err := client.DriverGrantBucketAccess(t.Context(), request)
		mustSucceed(t, err)
		user := workload(t, &cosi.DriverGrantBucketAccessResponse{Buckets: granted.GetBuckets(), Credentials: granted.GetCredentials()})
		if err := getObject(t, user, bucket, "given"); (err == nil) != may.read {
			t.Errorf("%s: reading: %v", mode, err)
		}
		if err := putObject(t, user, bucket, "given"); (err == nil) != may.write {
			t.Errorf("%s: writing: %v", mode, err)
		}
		_, err = client.DriverRevokeBucketAccess(t.Context(), &cosi.DriverRevokeBucketAccessRequest{
			AccountId: granted.GetAccountId(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
			Buckets: []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: bucket}},
		})
		mustSucceed(t, err)
	}
	if left := server.Inventory().Users; len(left) != 0 {
		t.Errorf("users are left: %v", left)
	}
}

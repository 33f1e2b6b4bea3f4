// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// TestCeph tests behavior specific to the RADOS Gateway.
func TestCeph(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "a Ceph takes a while to start")
	ceph := storestest.Ceph(t, stores.CephOptions{Placement: placement})
	on := cephTarget(t, ceph, "cosi")
	for name, test := range map[string]func(*testing.T, target){
		"a user of another owner":         testForeignUser,
		"a suspended user":                testSuspendedUser,
		"a policy that Ceph forgot":       testForgottenPolicy,
		"several deletions in one call":   testDeletionOfSeveral,
		"quota and placement":             testQuotaAndPlacement,
		"an object for everybody":         testNoPublicObject,
		"an object for another user":      testNoObjectForOthers,
		"a bucket of another owner":       testForgedBucket,
		"the output of the AWS CLI":       testByTheAWSCLI,
		"the capabilities that it needs":  testLackingCapabilities,
		"a key that was created manually": testKeyByHand,
		"an account of newer versions":    testAccountOfNewerCeph,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
	t.Run("a tenant", func(t *testing.T) {
		t.Parallel()
		testTenants(t, on, cephTarget(t, ceph, "team$cosi"))
	})
}

// mustCeph calls the admin operations.
func (on target) mustCeph(t *testing.T, method, path string, query url.Values, into any) {
	t.Helper()
	mustSucceed(t, on.cephAdmin(t.Context(), method, path, query, into))
}

// testForeignUser has a user with the name of an account but without the driver's mark: one of a person, or of a
// cluster whose name has this cluster's name as a prefix.
func testForeignUser(t *testing.T, on target) {
	for _, mark := range []string{"somebody", "cosi;" + s3driver.DefaultName + ";" + eksCluster + ";b;0123456789abcdef"} {
		w := newWorld(t, on, worldOptions{})
		bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
		on.mustCeph(t, http.MethodPut, "user", url.Values{"uid": {account}, "display-name": {mark}}, nil)
		before, err := on.cephKeys(t.Context(), account)
		mustSucceed(t, err)
		_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
		drivertest.WantCode(t, err, codes.AlreadyExists, "was not created by this driver", "does not change it")
		drivertest.WantCode(t, w.revoke(t, account, bucket), codes.FailedPrecondition, "does not change it")
		if after, err := on.cephKeys(t.Context(), account); err != nil || !slices.Equal(before, after) {
			t.Errorf("its keys were changed (%v)", err)
		}
		on.mustCeph(t, http.MethodDelete, "user", url.Values{"uid": {account}}, nil)
	}
}

// testSuspendedUser checks that a user remains suspended until an administrator enables it, and that it can be
// revoked.
func testSuspendedUser(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := workload(t, w.MustGrant(t, grantRequest(account, readWrite, bucket)))
	on.mustCeph(t, http.MethodPost, "user", url.Values{"uid": {account}, "suspended": {"true"}}, nil)
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "suspended")
	on.mustCeph(t, http.MethodPost, "user", url.Values{"uid": {account}, "suspended": {"false"}}, nil)
	w.MustGrant(t, grantRequest(account, readWrite, bucket))
	mustSucceed(t, putObject(t, client, bucket, "key"))
	on.mustCeph(t, http.MethodPost, "user", url.Values{"uid": {account}, "suspended": {"true"}}, nil)
	mustSucceed(t, w.revoke(t, account, bucket))
}

// testForgottenPolicy removes the policy. This removes all access except that of an object's writer, which the policy
// denied. The next grant restores the requested access. A process that is killed between the key of a rotation and
// the policy leaves the same state.
func testForgottenPolicy(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := grantRequest(account, drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, bucket)
	client := workload(t, w.MustGrant(t, request))
	mustSucceed(t, putObject(t, client, bucket, "own"))
	mustSucceed(t, putObject(t, w.root(), bucket, "another's"))
	if code := apiCode(t, getObject(t, client, bucket, "own")); code != "AccessDenied" {
		t.Errorf("reading its own object, with write permission: %q", code)
	}
	admin := iamClient(on.backend.Endpoint, on.rootID, on.rootSecret)
	_, err := admin.DeleteUserPolicy(t.Context(), &iam.DeleteUserPolicyInput{UserName: &account, PolicyName: aws.String("cosi")})
	mustSucceed(t, err)
	if code := apiCode(t, putObject(t, client, bucket, "key")); code != "AccessDenied" {
		t.Errorf("without a policy: %q", code)
	}
	if code := apiCode(t, getObject(t, client, bucket, "another's")); code != "AccessDenied" {
		t.Errorf("reading another's object without a policy: %q", code)
	}
	// ADR 0043 and docs/howto/ceph.md state this: if a version of Ceph rejects it, correct them.
	mustSucceed(t, getObject(t, client, bucket, "own"))
	_, err = client.PutObjectAcl(t.Context(), &s3.PutObjectAclInput{Bucket: &bucket, Key: aws.String("own"), ACL: "private"})
	mustSucceed(t, err)
	again := workload(t, w.MustGrant(t, request))
	mustSucceed(t, putObject(t, client, bucket, "key"))
	mustSucceed(t, putObject(t, again, bucket, "key"))
	if code := apiCode(t, getObject(t, client, bucket, "own")); code != "AccessDenied" {
		t.Errorf("reading its own object, after the next grant: %q", code)
	}
}

// testDeletionOfSeveral uses the call for several objects to attempt what the access does not allow for one object:
// deleting a version, and deleting at all.
func testDeletionOfSeveral(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, map[string]string{"versioning": "true"})
	put, err := w.root().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("given"), Body: strings.NewReader("text")})
	mustSucceed(t, err)
	keeps := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	keeps.Parameters = map[string]string{"allowDelete": "false"}
	for name, request := range map[string]*cosi.DriverGrantBucketAccessRequest{
		"an access that deletes objects": grantRequest(drivertest.NewAccount(), readWrite, bucket), "one that deletes nothing": keeps,
	} {
		client := workload(t, w.MustGrant(t, request))
		if code := apiCode(t, deleteObjects(t, client, bucket, types.ObjectIdentifier{Key: aws.String("given"), VersionId: put.VersionId})); code != "AccessDenied" {
			t.Errorf("%s deletes a version: %q", name, code)
		}
	}
	client := workload(t, w.MustGrant(t, keeps))
	if code := apiCode(t, deleteObjects(t, client, bucket, types.ObjectIdentifier{Key: aws.String("given")})); code != "AccessDenied" {
		t.Errorf("an access that deletes nothing: %q", code)
	}
	mustSucceed(t, getObject(t, client, bucket, "given"))
}

// placement is not the gateway's default placement.
const placement = "elsewhere"

func testQuotaAndPlacement(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	parameters := map[string]string{"quota": "1M", "quotaObjects": "1000", "placement": placement, "zonegroup": "default"}
	bucket := w.NewBucket(t, parameters)
	var found struct {
		Placement string `json:"placement_rule"`
		Quota     struct {
			Enabled bool  `json:"enabled"`
			Size    int64 `json:"max_size_kb"`
			Objects int64 `json:"max_objects"`
		} `json:"bucket_quota"`
	}
	on.mustCeph(t, http.MethodGet, "bucket", url.Values{"bucket": {bucket}}, &found)
	if !found.Quota.Enabled || found.Quota.Size != 977 || found.Quota.Objects != 1000 || found.Placement != placement {
		t.Errorf("the bucket has %+v", found)
	}
	_, err := w.root().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("large"), Body: strings.NewReader(strings.Repeat("x", 2<<20))})
	if code := apiCode(t, err); code != "QuotaExceeded" {
		t.Errorf("2 MiB in a bucket with a quota of 1 MB: %q", code)
	}
	_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket, Parameters: parameters})
	mustSucceed(t, err)
	for _, wrong := range []map[string]string{{"placement": "nowhere"}, {"zonegroup": "nowhere"}} {
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-" + drivertest.NewAccount(), Parameters: wrong})
		drivertest.WantCode(t, err, codes.InvalidArgument)
	}
}

// testNoPublicObject has a workload upload a public object, which must still not be readable by others.
func testNoPublicObject(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := workload(t, w.MustGrant(t, grantRequest(account, readWrite, bucket)))
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("key"), ACL: "public-read"})
	mustSucceed(t, err)
	response, err := http.Get(on.backend.Endpoint + "/" + bucket + "/key")
	mustSucceed(t, err)
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("anybody's request for the object: %s, %v", response.Status, err)
	}
}

// testNoObjectForOthers has a workload name another user in the ACL of an object, in each call that creates one. A
// workload without access to the bucket must not be able to use that, neither now nor after the first one has been
// revoked.
func testNoObjectForOthers(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, elsewhere := w.NewBucket(t, nil), w.NewBucket(t, nil)
	writer, reader, stranger := drivertest.NewAccount(), drivertest.NewAccount(), drivertest.NewAccount()
	client := workload(t, w.MustGrant(t, grantRequest(writer, readWrite, bucket)))
	other := workload(t, w.MustGrant(t, grantRequest(reader, readWrite, elsewhere)))
	unknown := on.newUser(t, stranger)
	mustSucceed(t, putObject(t, client, bucket, "source"))
	toBoth := aws.String("id=" + reader + ",id=" + stranger)
	keys := map[string]func(key *string) error{
		"put": func(key *string) error {
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key, Body: strings.NewReader("text"), GrantRead: toBoth})
			return err
		},
		"put-with-all-rights": func(key *string) error {
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key, Body: strings.NewReader("text"), GrantFullControl: toBoth})
			return err
		},
		"copied": func(key *string) error {
			_, err := client.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: &bucket, Key: key, CopySource: aws.String(bucket + "/source"), GrantRead: toBoth})
			return err
		},
		"in-parts": func(key *string) error { return putInParts(t, client, bucket, key, toBoth) },
	}
	for key, upload := range keys {
		mustSucceed(t, upload(&key))
		// docs/howto/ceph.md states this about users that do not belong to the driver: if a version of Ceph rejects it,
		// correct the page.
		mustSucceed(t, getObject(t, unknown, bucket, key))
	}
	for range 2 {
		for key := range keys {
			if code := apiCode(t, getObject(t, other, bucket, key)); code != "AccessDenied" {
				t.Errorf("reading an object (%s): %q", key, code)
			}
			_, err := other.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: &elsewhere, Key: &key, CopySource: aws.String(bucket + "/" + key)})
			if code := apiCode(t, err); code != "AccessDenied" {
				t.Errorf("copying an object (%s): %q", key, code)
			}
			_, err = other.PutObjectAcl(t.Context(), &s3.PutObjectAclInput{Bucket: &bucket, Key: &key, ACL: "private"})
			if code := apiCode(t, err); code != "AccessDenied" {
				t.Errorf("writing the ACL of an object (%s): %q", key, code)
			}
		}
		mustSucceed(t, w.revoke(t, writer, bucket))
	}
	mustSucceed(t, putObject(t, other, elsewhere, "own"))
	mustSucceed(t, getObject(t, other, elsewhere, "own"))
}

func putInParts(t *testing.T, client *s3.Client, bucket string, key, grantRead *string) error {
	t.Helper()
	begun, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: key, GrantRead: grantRead})
	if err != nil {
		return err
	}
	part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: &bucket, Key: key, UploadId: begun.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("text")})
	if err != nil {
		return err
	}
	_, err = client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
		Bucket: &bucket, Key: key, UploadId: begun.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: part.ETag}}},
	})
	return err
}

// newUser creates a user of the gateway that does not belong to a driver, with a key.
func (on target) newUser(t *testing.T, name string) *s3.Client {
	t.Helper()
	var keys []cephKey
	on.mustCeph(t, http.MethodPut, "user", url.Values{"uid": {name}, "display-name": {"somebody"}, "generate-key": {"false"}}, nil)
	on.mustCeph(t, http.MethodPut, "user", url.Values{"key": {""}, "uid": {name}, "generate-key": {"true"}}, &keys)
	return s3Client(on.backend.Endpoint, "us-east-1", keys[0].ID, keys[0].Secret)
}

// testForgedBucket has another user of the gateway create a bucket with the name that the driver is going to use,
// with the driver's mark and a policy that gives the driver access. Data that workloads wrote there would belong to
// that user.
func testForgedBucket(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	thief, bucket := on.newUser(t, drivertest.NewAccount()), w.NewBucket(t, nil)
	marked, err := w.root().GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &bucket})
	mustSucceed(t, err)
	mustSucceed(t, w.Delete(t, bucket, nil))
	_, err = thief.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	mustSucceed(t, err)
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::` + bucket + `","arn:aws:s3:::` + bucket + `/*"]}]}`
	_, err = thief.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy})
	mustSucceed(t, err)
	_, err = thief.PutBucketAcl(t.Context(), &s3.PutBucketAclInput{Bucket: &bucket, ACL: "private"})
	mustSucceed(t, err)
	_, err = thief.PutBucketAcl(t.Context(), &s3.PutBucketAclInput{Bucket: &bucket, AccessControlPolicy: &types.AccessControlPolicy{
		Owner:  &types.Owner{ID: aws.String("cosi")},
		Grants: []types.Grant{{Permission: types.PermissionFullControl, Grantee: &types.Grantee{Type: types.TypeCanonicalUser, ID: aws.String("cosi")}}},
	}})
	if code := apiCode(t, err); code != "AccessDenied" {
		t.Errorf("making the driver's user the owner: %q", code)
	}
	for _, tags := range [][]types.Tag{nil, marked.TagSet} {
		if tags != nil {
			_, err = thief.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{Bucket: &bucket, Tagging: &types.Tagging{TagSet: tags}})
			mustSucceed(t, err)
		}
		_, err = w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
		drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
		_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, bucket))
		drivertest.WantCode(t, err, codes.AlreadyExists, "another user")
		_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
		drivertest.WantCode(t, err, codes.AlreadyExists, "another user")
		drivertest.WantCode(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
	}
	// An administrator can transfer it to the driver.
	var found struct {
		ID string `json:"id"`
	}
	on.mustCeph(t, http.MethodGet, "bucket", url.Values{"bucket": {bucket}}, &found)
	on.mustCeph(t, http.MethodPut, "bucket", url.Values{"bucket": {bucket}, "bucket-id": {found.ID}, "uid": {"cosi"}}, nil)
	_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: bucket})
	mustSucceed(t, err)
	mustSucceed(t, w.Delete(t, bucket, nil))
}

// testByTheAWSCLI tests a user's view: a put, a rejected put, and a rejection after the revoke.
func testByTheAWSCLI(t *testing.T, on target) {
	if _, err := exec.LookPath("aws"); err != nil {
		storestest.Missing(t, err)
	}
	w := newWorld(t, on, worldOptions{})
	bucket, writer, reader := w.NewBucket(t, nil), drivertest.NewAccount(), drivertest.NewAccount()
	put := func(granted *cosi.DriverGrantBucketAccessResponse) string {
		t.Helper()
		key := granted.GetCredentials().GetS3()
		// Errors of this Ceph version have no message, which the AWS CLI does not handle. The response is in its log.
		cmd := exec.CommandContext(t.Context(), "aws", "--debug", "--endpoint-url", on.backend.Endpoint, "s3", "cp", "-", "s3://"+bucket+"/key")
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+key.GetAccessKeyId(), "AWS_SECRET_ACCESS_KEY="+key.GetAccessSecretKey(), "AWS_REGION=us-east-1")
		cmd.Stdin = strings.NewReader("text")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return ""
		}
		return string(out)
	}
	writes := w.MustGrant(t, grantRequest(writer, readWrite, bucket))
	if said := put(writes); said != "" {
		t.Errorf("put: %s", said)
	}
	reads := w.MustGrant(t, grantRequest(reader, drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}, bucket))
	if said := put(reads); !strings.Contains(said, "AccessDenied") {
		t.Errorf("put with a key for reading: %q", said)
	}
	mustSucceed(t, w.revoke(t, writer, bucket))
	if said := put(writes); !strings.Contains(said, "InvalidAccessKeyId") {
		t.Errorf("put after the revoke: %q", said)
	}
}

// testLackingCapabilities has a driver whose user may only own buckets.
func testLackingCapabilities(t *testing.T, on target) {
	var key []cephKey
	on.mustCeph(t, http.MethodPut, "user", url.Values{"uid": {"powerless"}, "display-name": {"powerless"}, "generate-key": {"false"}}, nil)
	on.mustCeph(t, http.MethodPut, "user", url.Values{"key": {""}, "uid": {"powerless"}, "generate-key": {"true"}}, &key)
	on.backend.Credentials = s3driver.CredentialsConfig{AccessKeyID: key[0].ID, SecretAccessKey: cosi.NewSecret(key[0].Secret)}
	powerless, bucket := newWorld(t, on, worldOptions{}), "bc-"+drivertest.NewAccount()
	_, err := powerless.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket})
	drivertest.WantCode(t, err, codes.PermissionDenied, "administrator has to grant the permission")
	// The bucket exists at this point.
	_, err = powerless.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, bucket))
	drivertest.WantCode(t, err, codes.PermissionDenied, "administrator has to grant the permission")
}

// testKeyByHand has a key that an administrator added to one of the driver's users: the grant returns an error, and
// the revoke removes the key.
func testKeyByHand(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	w.MustGrant(t, grantRequest(account, readWrite, bucket))
	on.mustCeph(t, http.MethodPut, "user", url.Values{"key": {""}, "uid": {account}, "access-key": {"by-hand-" + account}, "generate-key": {"true"}}, nil)
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "created manually")
	mustSucceed(t, w.revoke(t, account, bucket))
}

// testAccountOfNewerCeph simulates the responses of newer gateways for a driver whose user belongs to an account.
func testAccountOfNewerCeph(t *testing.T, on target) {
	wrap := func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err != nil || !strings.HasPrefix(request.URL.Path, "/admin/user") || !request.URL.Query().Has("access-key") {
				return response, err
			}
			text, err := io.ReadAll(response.Body)
			text = bytes.Replace(text, []byte("{"), []byte(`{"account_id":"RGW1",`), 1)
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			return response, err
		})
	}
	w := newWorld(t, on, worldOptions{wrap: wrap})
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil)))
	drivertest.WantCode(t, err, codes.FailedPrecondition, "account RGW1", "without an account")
}

// testTenants has the same names in two tenants, neither of which can access the other's buckets.
func testTenants(t *testing.T, none, team target) {
	outside, inside := newWorld(t, none, worldOptions{}), newWorld(t, team, worldOptions{})
	bucket, account := "bc-"+drivertest.NewAccount(), drivertest.NewAccount()
	request := grantRequest(account, readWrite, bucket)
	outside.mustCreate(t, bucket, nil)
	inside.mustCreate(t, bucket, map[string]string{"quota": "1Mi"})
	other := workload(t, outside.MustGrant(t, request))
	own := workload(t, inside.MustGrant(t, request))
	mustSucceed(t, putObject(t, own, bucket, "of the team"))
	mustSucceed(t, putObject(t, other, bucket, "of nobody"))
	for name, reach := range map[string]struct {
		client      *s3.Client
		bucket, key string
		want        string
	}{
		"the team's bucket from within":      {own, "team:" + bucket, "of the team", ""},
		"the team's bucket from outside":     {other, "team:" + bucket, "of the team", "AccessDenied"},
		"the bucket without a tenant itself": {other, ":" + bucket, "of nobody", ""},
		"that from within":                   {own, ":" + bucket, "of nobody", "AccessDenied"},
	} {
		if code := apiCode(t, getObject(t, reach.client, reach.bucket, reach.key)); code != reach.want {
			t.Errorf("read %s: %q, want %q", name, code, reach.want)
		}
		if code := apiCode(t, putObject(t, reach.client, reach.bucket, "another")); code != reach.want {
			t.Errorf("write %s: %q, want %q", name, code, reach.want)
		}
	}
	mustSucceed(t, inside.revoke(t, account, bucket))
	if code := apiCode(t, putObject(t, own, bucket, "key")); code != "InvalidAccessKeyId" {
		t.Errorf("after revoke: %q", code)
	}
	mustSucceed(t, putObject(t, other, bucket, "key"))
	mustSucceed(t, inside.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
	mustSucceed(t, outside.revoke(t, account, bucket))
}

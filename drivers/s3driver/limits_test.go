// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func testParallelGrantsOnOneBucket(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	granted := make([]*cosi.DriverGrantBucketAccessResponse, 16)
	var group sync.WaitGroup
	for i := range granted {
		group.Go(func() {
			var err error
			if granted[i], err = w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, bucket)); err != nil {
				t.Errorf("grant %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for i, one := range granted {
		if err := putObject(t, workload(t, one), bucket, fmt.Sprint("key", i)); err != nil {
			t.Errorf("credential %d does not work: %v", i, err)
		}
	}
}

func testParallelGrantsOfOneAccount(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	var mu sync.Mutex
	var keys []string
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			granted, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
			if status.Code(err) == codes.Aborted {
				return
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			keys = append(keys, granted.GetCredentials().GetS3().GetAccessKeyId())
		})
	}
	group.Wait()
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 1 {
		t.Errorf("keys %v, want one", keys)
	}
}

// TestManyBuckets grants read-write access to buckets with names as COSI makes them: one policy of a
// user has room for 15 of them, a managed one for 51.
func TestManyBuckets(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	const most = 51
	var buckets []string
	for range most + 1 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	slices.Sort(buckets)
	for _, test := range []struct {
		count, inline, managed int
	}{{1, 1, 0}, {2, 1, 0}, {15, 1, 0}, {16, 0, 1}, {50, 0, 1}, {most, 0, 1}} {
		account := drivertest.NewAccount()
		client := workload(t, w.MustGrant(t, grantRequest(account, readWrite, buckets[:test.count]...)))
		for _, i := range []int{0, test.count - 1} {
			if err := putObject(t, client, buckets[i], "key"); err != nil {
				t.Errorf("%d buckets: put into bucket %d: %v", test.count, i+1, err)
			}
		}
		if code := apiCode(t, putObject(t, client, buckets[test.count], "key")); code != "AccessDenied" {
			t.Errorf("%d buckets: put into the next one: %q", test.count, code)
		}
		held := server.Inventory()
		if inline, managed := len(held.Users[0].Inline), len(held.Policies); inline != test.inline || managed != test.managed {
			t.Errorf("%d buckets: %d inline and %d managed policies, want %d and %d", test.count, inline, managed, test.inline, test.managed)
		}
		if err := w.revoke(t, account, buckets[:test.count]...); err != nil {
			t.Errorf("%d buckets: revoke: %v", test.count, err)
		}
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, buckets...))
	drivertest.WantCode(t, err, codes.InvalidArgument, "52 buckets", "6144")
	if left := server.Inventory(); len(left.Users) != 0 || len(left.Policies) != 0 {
		t.Errorf("left are users %v and policies %v", left.Users, left.Policies)
	}
}

// TestPolicyThatChangesItsSize has an access on 15 buckets, whose policy just fits into a user, when a bucket of them
// gets a key for its encryption, and loses it again.
func TestPolicyThatChangesItsSize(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 15 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	request := grantRequest(drivertest.NewAccount(), readWrite, buckets...)
	encrypted := &s3.PutBucketEncryptionInput{Bucket: &buckets[0], ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
		Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{
			SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: aws.String("1234abcd-12ab-34cd-56ef-1234567890ab"),
		}}},
	}}
	for _, step := range []struct {
		name            string
		change          func() error
		inline, managed int
	}{
		{"without a key", func() error { return nil }, 1, 0},
		{"with a key", func() error { _, err := w.root().PutBucketEncryption(t.Context(), encrypted); return err }, 0, 1},
		{"without it again", func() error {
			_, err := w.root().DeleteBucketEncryption(t.Context(), &s3.DeleteBucketEncryptionInput{Bucket: &buckets[0]})
			return err
		}, 1, 0},
	} {
		mustSucceed(t, step.change())
		mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, request)), buckets[0], "key"))
		held := server.Inventory()
		if inline, managed := len(held.Users[0].Inline), len(held.Policies); inline != step.inline || managed != step.managed {
			t.Errorf("%s: %d inline and %d managed policies, want %d and %d", step.name, inline, managed, step.inline, step.managed)
		}
	}
}

// TestClocksThatDiffer has the store's clock an hour ahead of the driver's.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	on, _ := startFake(t, s3fake.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	ahead.Store(int64(time.Hour))
	// The SDK learns the difference from the responses of the store, as long as the store tells the time.
	if _, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket}); err != nil {
		drivertest.WantCode(t, err, codes.Unavailable, "clock")
	}
	ahead.Store(0)
	w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
}

func TestThrottlingAndRecovery(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule fault.Rule
		want codes.Code
	}{
		"S3 asks to slow down":    {fault.Rule{Operation: "GetBucket*", Code: "SlowDown", Status: 503}, codes.ResourceExhausted},
		"S3 is not available":     {fault.Rule{Operation: "GetBucket*", Code: "ServiceUnavailable", Status: 503}, codes.Unavailable},
		"IAM asks to slow down":   {fault.Rule{Operation: "iam:*", Code: "Throttling", Status: 400}, codes.ResourceExhausted},
		"IAM has no room for key": {fault.Rule{Operation: "iam:CreateAccessKey", Code: "LimitExceeded", Status: 409}, codes.ResourceExhausted},
		"IAM has lost its head":   {fault.Rule{Operation: "iam:*", Code: "ServiceFailure", Status: 500}, codes.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{})
			w := newWorld(t, on, worldOptions{})
			bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
			if err := server.Faults.Add(test.rule); err != nil {
				t.Fatal(err)
			}
			_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
			drivertest.WantCode(t, err, test.want)
			server.Faults.Clear()
			w.MustGrant(t, grantRequest(account, readWrite, bucket))
			if users := server.Inventory().Users; len(users) != 1 || len(users[0].Keys) != 1 {
				t.Errorf("users %v, want one with one key", users)
			}
		})
	}
}

func TestRemovedByHand(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := grantRequest(account, readWrite, bucket)
	first := w.MustGrant(t, request).GetCredentials().GetS3().GetAccessKeyId()

	client := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	if _, err := client.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: &account, AccessKeyId: &first}); err != nil {
		t.Fatal(err)
	}
	if err := putObject(t, workload(t, w.MustGrant(t, request)), bucket, "key"); err != nil {
		t.Errorf("after the key was removed: %v", err)
	}
	removeUser(t, client, account)
	if err := putObject(t, workload(t, w.MustGrant(t, request)), bucket, "key"); err != nil {
		t.Errorf("after the user was removed: %v", err)
	}
	removeUser(t, client, account)
	if err := w.revoke(t, account, bucket); err != nil {
		t.Errorf("revoke after the user was removed: %v", err)
	}
	if err := w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}); err != nil {
		t.Fatal(err)
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.NotFound, bucket)
	w.mustCreate(t, bucket, nil)
}

func removeUser(t *testing.T, client *iam.Client, name string) {
	t.Helper()
	keys, err := client.ListAccessKeys(t.Context(), &iam.ListAccessKeysInput{UserName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.AccessKeyMetadata {
		if _, err := client.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: &name, AccessKeyId: key.AccessKeyId}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.DeleteUserPolicy(t.Context(), &iam.DeleteUserPolicyInput{UserName: &name, PolicyName: aws.String("cosi")}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteUser(t.Context(), &iam.DeleteUserInput{UserName: &name}); err != nil {
		t.Fatal(err)
	}
}

// TestForeignUserIsLeftAlone has a user of the account's name that somebody else made.
func TestForeignUserIsLeftAlone(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	if _, err := client.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &account}); err != nil {
		t.Fatal(err)
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "left alone")
	drivertest.WantCode(t, w.revoke(t, account, bucket), codes.FailedPrecondition, "mark")
	if users := server.Inventory().Users; len(users) != 1 || len(users[0].Keys)+len(users[0].Inline) != 0 {
		t.Errorf("users %v, want the foreign one untouched", users)
	}
}

func TestBoundaryPathAndTags(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	client := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	boundary, err := client.CreatePolicy(t.Context(), &iam.CreatePolicyInput{
		PolicyName: aws.String("bound"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Get*","Resource":"*"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	on.backend.IAM.PermissionsBoundary = aws.ToString(boundary.Policy.Arn)
	on.backend.IAM.Path = "/teams/storage/"
	w := newWorld(t, on, worldOptions{config: func(c *s3driver.Config) { c.Cluster = "blue" }})
	bucket, account := w.NewBucket(t, map[string]string{"tags": `{"Käse":"ö 1"}`}), drivertest.NewAccount()
	user := workload(t, w.MustGrant(t, grantRequest(account, readWrite, bucket)))
	if code := apiCode(t, putObject(t, user, bucket, "key")); code != "AccessDenied" {
		t.Errorf("writing beyond the boundary: %q", code)
	}
	made := server.Inventory().Users[0]
	if made.Path != "/teams/storage/" || made.Boundary != aws.ToString(boundary.Policy.Arn) || made.Tags["cosi-cluster"] != "blue" {
		t.Errorf("user %+v has another path, boundary or tag", made)
	}
	tags, err := w.root().GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, tag := range tags.TagSet {
		found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if found["Käse"] != "ö 1" || found["cosi-cluster"] != "blue" || found["cosi-state"] != "ready" {
		t.Errorf("bucket has the tags %v", found)
	}
}

// TestMarksOutliveTheDriver pins the hashes in the marks. A driver that computes others refuses everything that its
// predecessors made.
func TestMarksOutliveTheDriver(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	w.mustCreate(t, "bc-1", map[string]string{"versioning": "true", "tags": `{"team":"a"}`, "deleteNonEmpty": "true"})
	request := grantRequest("ba-1", drivertest.Modes{Data: both, ObjectMetadata: readOnly}, "bc-1")
	request.Parameters = map[string]string{"allowDelete": "false"}
	w.MustGrant(t, request)
	tags, err := w.root().GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: aws.String("bc-1")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"account": server.Inventory().Users[0].Tags["cosi-params"]}
	for _, tag := range tags.TagSet {
		if aws.ToString(tag.Key) == "cosi-params" {
			got["bucket"] = aws.ToString(tag.Value)
		}
	}
	want := map[string]string{"account": "34c609dd4d7a53e57419e58f69408137", "bucket": "40d74b8d7efbf193ac01f8cfdb961e53"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes (-want +got):\n%s", diff)
	}
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
	if err := putObject(t, workload(t, w.MustGrant(t, accepted)), bucket, "key"); err != nil {
		t.Errorf("the shared key does not work: %v", err)
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

func TestCallsToStoresAreMeasured(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	registry := prometheus.NewRegistry()
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(), Registerer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.CheckBackends(t.Context())["main"]; err != nil {
		t.Errorf("the backend does not respond: %v", err)
	}
	if _, err := driver.CreateBucket(t.Context(), driverkit.CreateBucketRequest{BucketID: "bc-1"}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "operation" {
					seen = append(seen, label.GetValue())
				}
			}
		}
	}
	for _, want := range []string{"CreateBucket", "PutBucketTagging", "ListBuckets"} {
		if !slices.Contains(seen, want) {
			t.Errorf("%s is not measured, only %v", want, seen)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestManyBuckets grants read-write access to buckets with COSI's names: one inline policy has room for 14 of them, a
// managed one for 50.
func TestManyBuckets(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	const most = 50
	var buckets []string
	for range most + 1 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	slices.Sort(buckets)
	for _, test := range []struct {
		count, inline, managed int
	}{{1, 1, 0}, {2, 1, 0}, {14, 1, 0}, {15, 0, 1}, {most, 0, 1}} {
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
	drivertest.WantCode(t, err, codes.InvalidArgument, "51 buckets", "6144")
	if left := server.Inventory(); len(left.Users) != 0 || len(left.Policies) != 0 {
		t.Errorf("left are users %v and policies %v", left.Users, left.Policies)
	}
}

// TestPolicyThatChangesItsSize has an access to 14 buckets, whose policy just fits into a user. One of the buckets
// then gets an encryption key and loses it again.
func TestPolicyThatChangesItsSize(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 14 {
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
	drivertest.Age(t, w.store, account)
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
	mustSucceed(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
	_, err := w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.NotFound, bucket)
	w.mustCreate(t, bucket, nil)
}

func removeUser(t *testing.T, client *iam.Client, name string) {
	t.Helper()
	keys, err := client.ListAccessKeys(t.Context(), &iam.ListAccessKeysInput{UserName: &name})
	mustSucceed(t, err)
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

// TestForeignUserIsLeftAlone has a user with the account's name that the driver did not create.
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
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change it")
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
	mustSucceed(t, err)
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
	mustSucceed(t, err)
	found := map[string]string{}
	for _, tag := range tags.TagSet {
		found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if found["Käse"] != "ö 1" || found["cosi-cluster"] != "blue" || found["cosi-state"] != "ready" {
		t.Errorf("bucket has the tags %v", found)
	}
}

// TestMarksOutliveTheDriver pins the hashes in the marks. A driver that computes others would reject everything that
// earlier versions created.
func TestMarksOutliveTheDriver(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	w.mustCreate(t, "bc-1", map[string]string{"versioning": "true", "tags": `{"team":"a"}`, "deleteNonEmpty": "true"})
	request := grantRequest("ba-1", drivertest.Modes{Data: both, ObjectMetadata: readOnly}, "bc-1")
	request.Parameters = map[string]string{"allowDelete": "false"}
	w.MustGrant(t, request)
	tags, err := w.root().GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: aws.String("bc-1")})
	mustSucceed(t, err)
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

// without disables calls of a store, which compatible stores may lack.
func without(t *testing.T, server *s3fake.Server, operations ...string) {
	t.Helper()
	for _, operation := range operations {
		mustSucceed(t, server.Faults.Add(fault.Rule{Operation: operation, Code: "InvalidAction", Status: http.StatusBadRequest}))
	}
}

// TestRevokeWithoutSomeCalls checks that a store without a call to list what only its administrator can have added is
// treated as having none.
func TestRevokeWithoutSomeCalls(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	without(t, server, "iam:ListAttachedUserPolicies", "iam:ListPolicies", "iam:ListAttachedRolePolicies", "iam:ListGroupsForUser")
	w := newWorld(t, on, worldOptions{})
	bucket, withKey, asPod := w.NewBucket(t, nil), drivertest.NewAccount(), drivertest.NewAccount()
	shop := pod{namespace: "ns", account: "sa"}
	w.MustGrant(t, grantRequest(withKey, readWrite, bucket))
	w.MustGrant(t, shop.grantRequest(asPod, readWrite, bucket))
	mustSucceed(t, w.revoke(t, withKey, bucket))
	mustSucceed(t, shop.revoke(t, w, asPod, bucket))
	if left := server.Inventory(); len(left.Users)+len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are users %v, roles %v, associations %v", left.Users, left.Roles, left.Associations)
	}
}

// TestPolicyTooLargeForTheStore checks that a store without managed policies rejects the policy with a terminal
// error.
func TestPolicyTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	without(t, server, "iam:CreatePolicy")
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	account := drivertest.NewAccount()
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, buckets...))
	drivertest.WantCode(t, err, codes.InvalidArgument)
	for _, user := range server.Inventory().Users {
		if len(user.Keys)+len(user.Inline) > 0 {
			t.Errorf("the refused access has keys or rights: %+v", user)
		}
	}
	mustSucceed(t, w.revoke(t, account, buckets...))
	if left := server.Inventory().Users; len(left) != 0 {
		t.Errorf("left are users %v", left)
	}
	granted, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, buckets[:14]...))
	if err != nil {
		t.Fatalf("14 buckets: %v", err)
	}
	mustSucceed(t, putObject(t, workload(t, granted), granted.GetBuckets()[0].GetBucketId(), "key"))
}

// TestRevokeLeavesGroups removes a user from groups that an administrator added it to, which prevent its deletion.
func TestRevokeLeavesGroups(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	w.MustGrant(t, grantRequest(account, readWrite, bucket))
	admin := iam.New(iam.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret)})
	group, user := aws.String("auditors"), aws.String(server.Inventory().Users[0].Name)
	if _, err := admin.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: group}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AddUserToGroup(t.Context(), &iam.AddUserToGroupInput{GroupName: group, UserName: user}); err != nil {
		t.Fatal(err)
	}
	mustSucceed(t, w.revoke(t, account, bucket))
	if left := server.Inventory(); len(left.Users) != 0 || len(left.Groups) != 1 {
		t.Errorf("left are users %v and groups %v, want the group alone", left.Users, left.Groups)
	}
}

// TestRotationEndsSessions simulates an attacker who creates a session with a stolen key, for which neither AWS nor
// MinIO require permission in a policy. On AWS it lives for 36 hours, even if the key is deleted.
func TestRotationEndsSessions(t *testing.T) {
	t.Parallel()
	t.Run("our fake", func(t *testing.T) {
		t.Parallel()
		on, _ := startFake(t, s3fake.Options{})
		rotationEndsSessions(t, on, func(client *sts.Client) (*ststypes.Credentials, error) {
			out, err := client.GetSessionToken(t.Context(), &sts.GetSessionTokenInput{DurationSeconds: aws.Int32(129600)})
			if err != nil {
				return nil, err
			}
			return out.Credentials, nil
		})
	})
	t.Run("MinIO", func(t *testing.T) {
		t.Parallel()
		fulltest.Only(t, "the same on a real store")
		rotationEndsSessions(t, realMinIO(t), func(client *sts.Client) (*ststypes.Credentials, error) {
			out, err := client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:minio:iam:::role/none"), RoleSessionName: aws.String("session"), DurationSeconds: aws.Int32(604800)})
			if err != nil {
				return nil, err
			}
			return out.Credentials, nil
		})
	})
}

func rotationEndsSessions(t *testing.T, on target, session func(*sts.Client) (*ststypes.Credentials, error)) {
	t.Helper()
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	leaked := w.MustGrant(t, request).GetCredentials().GetS3()
	made, err := session(sts.New(sts.Options{
		BaseEndpoint: &on.backend.Endpoint, Region: "us-east-1", Credentials: fixedCredentials(leaked.GetAccessKeyId(), leaked.GetAccessSecretKey()),
	}))
	mustSucceed(t, err)
	for _, rotation := range []string{"once", "twice"} {
		request.Rotation = rotation
		mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, request)), bucket, "key"))
	}
	thief := s3.New(s3.Options{
		BaseEndpoint: &on.backend.Endpoint, Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(*made.AccessKeyId, *made.SecretAccessKey, *made.SessionToken),
	})
	if code := apiCode(t, getObject(t, thief, bucket, "key")); code != "AccessDenied" {
		t.Errorf("after two rotations, a session of the first key reads: %q", code)
	}
}

// TestRepeatedGrantWritesNothing repeats the grant of an account's access, like the daily one of a sidecar.
func TestRepeatedGrantWritesNothing(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://oidc.example.com/id"}})
	on.backend.IAM.ServiceAccounts.EKSCluster = eksCluster
	w := newWorld(t, on, worldOptions{})
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.NewBucket(t, nil))
	}
	shop := pod{namespace: "ns", account: "sa"}
	for name, request := range map[string]*cosi.DriverGrantBucketAccessRequest{
		"a policy in a user":    grantRequest(drivertest.NewAccount(), readWrite, buckets[0]),
		"a policy of its own":   grantRequest(drivertest.NewAccount(), readWrite, buckets...),
		"the role of a service": shop.grantRequest(drivertest.NewAccount(), readWrite, buckets[0]),
	} {
		w.MustGrant(t, request)
		server.ForgetCalls()
		w.MustGrant(t, request)
		for _, call := range server.Calls() {
			_, action, _ := strings.Cut(call.Operation, ":")
			if reads := strings.HasPrefix(action, "Get") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Describe"); action != "" && !reads {
				t.Errorf("%s: granted again, it calls %s", name, call.Operation)
			}
		}
	}
}

// TestRepeatedGrantWritesNothingByAnAdminAPI is TestRepeatedGrantWritesNothing for stores whose users are created
// through admin APIs.
func TestRepeatedGrantWritesNothingByAnAdminAPI(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) target{"MinIO": realMinIO, "versitygw": versityAdmin} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var again atomic.Bool
			w := newWorld(t, start(t), worldOptions{wrap: func(next http.RoundTripper) http.RoundTripper {
				return transportFunc(func(request *http.Request) (*http.Response, error) {
					// versitygw also uses PATCH for reads.
					if reads := request.Method == http.MethodGet || request.Method == http.MethodHead || request.URL.Path == "/list-users"; again.Load() && !reads {
						t.Errorf("granted again, it calls %s %s", request.Method, request.URL)
					}
					return next.RoundTrip(request)
				})
			}})
			request := grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil), w.NewBucket(t, nil))
			for _, request.Rotation = range []string{"", "once"} {
				w.MustGrant(t, request)
				again.Store(true)
				w.MustGrant(t, request)
				again.Store(false)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// seaweedFSAccounts lists users, keys and managed policies.
func seaweedFSAccounts(ctx context.Context, endpoint, id, secret string) ([]string, error) {
	lines, err := iamAccounts(ctx, endpoint, id, secret)
	if err != nil {
		return nil, err
	}
	policies, err := iamClient(endpoint, id, secret).ListPolicies(ctx, &iam.ListPoliciesInput{})
	if err != nil {
		return nil, err
	}
	for _, policy := range policies.Policies {
		lines = append(lines, "policy "+aws.ToString(policy.PolicyName))
	}
	return lines, nil
}

// fakeSeaweedFS is the fake with type seaweedfs, which makes only calls that AWS also has. It replaces SeaweedFS in the
// full tier.
func fakeSeaweedFS(t *testing.T) target {
	t.Helper()
	on, _ := startFake(t, s3fake.Options{})
	on.backend.Type, on.real, on.sample = s3driver.TypeSeaweedFS, true, sampleOfReal
	return on
}

func arnOfPolicy(name string) *string { return aws.String("arn:aws:iam::000000000000:policy/" + name) }

// removeSeaweedFSUser removes a user, like the store's administrator, and leaves its policy.
func removeSeaweedFSUser(t *testing.T, client *iam.Client, name string) {
	t.Helper()
	_, err := client.DetachUserPolicy(t.Context(), &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: arnOfPolicy(name)})
	mustSucceed(t, err)
	keys, err := client.ListAccessKeys(t.Context(), &iam.ListAccessKeysInput{UserName: &name})
	mustSucceed(t, err)
	for _, key := range keys.AccessKeyMetadata {
		_, err := client.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: &name, AccessKeyId: key.AccessKeyId})
		mustSucceed(t, err)
	}
	_, err = client.DeleteUser(t.Context(), &iam.DeleteUserInput{UserName: &name})
	mustSucceed(t, err)
}

// TestSeaweedFS tests behavior specific to SeaweedFS.
func TestSeaweedFS(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "other stores are built faster")
	on := realSeaweedFS(t)
	for name, test := range map[string]func(*testing.T, target){
		"a user of another owner":               testForeignSeaweedFSUser,
		"a policy of another cluster":           testForeignSeaweedFSPolicy,
		"a key that a workload made for itself": testKeyOfAWorkload,
		"a policy that was changed manually":    testChangedSeaweedFSPolicy,
		"a session of a workload":               testNoSeaweedFSSession,
		"many accounts at the same time":        testManySeaweedFSAccounts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

func (on target) iamOfRoot() *iam.Client {
	return iamClient(on.backend.Endpoint, on.rootID, on.rootSecret)
}

// testForeignSeaweedFSUser has a user with the account's name that the driver did not create.
func testForeignSeaweedFSUser(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	_, err := on.iamOfRoot().CreateUser(t.Context(), &iam.CreateUserInput{UserName: &account})
	mustSucceed(t, err)
	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change the user")
	drivertest.WantCode(t, w.revoke(t, account, bucket), codes.FailedPrecondition, "does not change the user")
	keys, err := on.iamOfRoot().ListAccessKeys(t.Context(), &iam.ListAccessKeysInput{UserName: &account})
	if err != nil || len(keys.AccessKeyMetadata) > 0 {
		t.Errorf("keys of the user: %d, %v", len(keys.AccessKeyMetadata), err)
	}
	attached, err := on.iamOfRoot().ListAttachedUserPolicies(t.Context(), &iam.ListAttachedUserPoliciesInput{UserName: &account})
	if err != nil || len(attached.AttachedPolicies) > 0 {
		t.Errorf("policies of the user: %v, %v", attached, err)
	}
}

// testForeignSeaweedFSPolicy has the account of a cluster whose name has this cluster's name as a prefix.
func testForeignSeaweedFSPolicy(t *testing.T, on target) {
	other := newWorld(t, on, worldOptions{config: func(config *s3driver.Config) { config.Cluster += ";b" }})
	w := newWorld(t, on, worldOptions{store: other.store})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	client := workload(t, other.MustGrant(t, grantRequest(account, readWrite, bucket)))
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not change the user")
	drivertest.WantCode(t, w.revoke(t, account, bucket), codes.FailedPrecondition, "does not change the user")
	mustSucceed(t, putObject(t, client, bucket, "key"))
	mustSucceed(t, other.revoke(t, account, bucket))
}

// testKeyOfAWorkload has a workload that creates a key for its own user, which SeaweedFS allows by default. A rotation
// and a revocation end the key.
func testKeyOfAWorkload(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	for name, end := range map[string]func(){
		"rotation": func() { request.Rotation = "1"; w.MustGrant(t, request) },
		"revoke":   func() { mustSucceed(t, w.revoke(t, request.GetAccountId(), bucket)) },
	} {
		request.AccountId, request.Rotation = drivertest.NewAccount(), ""
		given := w.MustGrant(t, request).GetCredentials().GetS3()
		own, err := iamClient(on.backend.Endpoint, given.GetAccessKeyId(), given.GetAccessSecretKey()).CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{})
		mustSucceed(t, err)
		client := s3Client(on.backend.Endpoint, "us-east-1", *own.AccessKey.AccessKeyId, *own.AccessKey.SecretAccessKey)
		mustSucceed(t, putObject(t, client, bucket, "key"))
		end()
		if code := apiCode(t, putObject(t, client, bucket, "key")); code != "InvalidAccessKeyId" {
			t.Errorf("after a %s: %q", name, code)
		}
	}
}

// testChangedSeaweedFSPolicy checks that the next grant restores the requested access, and that a user without its
// policy can do nothing.
func testChangedSeaweedFSPolicy(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
	request := grantRequest(account, drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, bucket)
	client := workload(t, w.MustGrant(t, request))
	mustSucceed(t, putObject(t, client, bucket, "key"))
	arn := arnOfPolicy(account)
	_, err := on.iamOfRoot().DetachUserPolicy(t.Context(), &iam.DetachUserPolicyInput{UserName: &account, PolicyArn: arn})
	mustSucceed(t, err)
	if code := apiCode(t, putObject(t, client, bucket, "key")); code != "AccessDenied" {
		t.Errorf("without a policy: %q", code)
	}
	found, err := on.iamOfRoot().GetPolicyVersion(t.Context(), &iam.GetPolicyVersionInput{PolicyArn: arn, VersionId: aws.String("v1")})
	mustSucceed(t, err)
	wider := aws.String(strings.Replace(*found.PolicyVersion.Document, `"s3:PutObject"`, `"s3:PutObject","s3:GetObject"`, 1))
	_, err = on.iamOfRoot().CreatePolicyVersion(t.Context(), &iam.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: wider, SetAsDefault: true})
	mustSucceed(t, err)
	w.MustGrant(t, request)
	mustSucceed(t, putObject(t, client, bucket, "key"))
	if code := apiCode(t, getObject(t, client, bucket, "key")); code != "AccessDenied" {
		t.Errorf("reading after the next grant: %q", code)
	}
	mustSucceed(t, w.revoke(t, account, bucket))
}

// testNoSeaweedFSSession checks that a workload cannot get a session, which would outlive its key.
func testNoSeaweedFSSession(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	given := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket)).GetCredentials().GetS3()
	session := func(id, secret string) error {
		client := sts.New(sts.Options{BaseEndpoint: &on.backend.Endpoint, Region: "us-east-1", RetryMaxAttempts: 1, Credentials: fixedCredentials(id, secret)})
		_, err := client.GetFederationToken(t.Context(), &sts.GetFederationTokenInput{Name: aws.String("session")})
		return err
	}
	mustSucceed(t, session(on.rootID, on.rootSecret))
	if code := apiCode(t, session(given.GetAccessKeyId(), given.GetAccessSecretKey())); code != "AccessDenied" {
		t.Errorf("a session of a workload: %q", code)
	}
}

// testManySeaweedFSAccounts grants and revokes accounts at the same time. None of the changes may be lost.
func testManySeaweedFSAccounts(t *testing.T, on target) {
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	for i := range 16 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			kept, gone := drivertest.NewAccount(), drivertest.NewAccount()
			former := workload(t, w.MustGrant(t, grantRequest(gone, readWrite, bucket)))
			client := workload(t, w.MustGrant(t, grantRequest(kept, readWrite, bucket)))
			mustSucceed(t, w.revoke(t, gone, bucket))
			mustSucceed(t, putObject(t, client, bucket, kept))
			if code := apiCode(t, putObject(t, former, bucket, gone)); code != "InvalidAccessKeyId" {
				t.Errorf("after revoke: %q", code)
			}
			mustSucceed(t, w.revoke(t, kept, bucket))
		})
	}
}

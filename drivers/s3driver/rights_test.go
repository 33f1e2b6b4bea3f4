// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// documented returns a policy from the documentation in IAM's compact form, with another prefix for bucket names than
// COSI's.
func documented(t *testing.T, name, buckets string) *string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "howto", name))
	mustSucceed(t, err)
	var short bytes.Buffer
	mustSucceed(t, json.Compact(&short, text))
	return aws.String(strings.ReplaceAll(short.String(), ":::bc-", ":::"+buckets))
}

func iamClient(endpoint, id, secret string) *iam.Client {
	return iam.New(iam.Options{BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: fixedCredentials(id, secret)})
}

// least makes the driver a user with exactly the policy in the documentation, whose accounts have the documented
// boundary.
func least(t *testing.T, on target, buckets string) target {
	t.Helper()
	admin := iamClient(on.backend.Endpoint, on.rootID, on.rootSecret)
	bound, err := admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: aws.String("cosi-boundary"), PolicyDocument: documented(t, "s3-boundary-policy.json", buckets)})
	mustSucceed(t, err)
	user := aws.String("driver")
	if _, err := admin.CreateUser(t.Context(), &iam.CreateUserInput{UserName: user}); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreatePolicy(t.Context(), &iam.CreatePolicyInput{PolicyName: user, PolicyDocument: documented(t, "s3-driver-policy.json", buckets)})
	mustSucceed(t, err)
	if _, err := admin.AttachUserPolicy(t.Context(), &iam.AttachUserPolicyInput{UserName: user, PolicyArn: made.Policy.Arn}); err != nil {
		t.Fatal(err)
	}
	key, err := admin.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: user})
	mustSucceed(t, err)
	on.backend.IAM.PermissionsBoundary = *bound.Policy.Arn
	on.backend.Credentials = s3driver.CredentialsConfig{AccessKeyID: *key.AccessKey.AccessKeyId, SecretAccessKey: cosi.NewSecret(*key.AccessKey.SecretAccessKey)}
	return on
}

// TestRightsOfTheDriver checks that the documented policy is sufficient for everything that the driver does.
func TestRightsOfTheDriver(t *testing.T) {
	t.Parallel()
	on, server := ourServer(t, s3fake.Options{})
	on = least(t, on, "bc-")
	before := server.Inventory()
	w := newWorld(t, on, worldOptions{})
	everything := map[string]string{
		"objectLock": "true", "objectLockMode": "GOVERNANCE", "objectLockDays": "1", "tags": `{"a":"b"}`, "encryption": "SSE-S3",
		"lifecycle": oneRule, "cors": oneOrigin, "eventQueue": on.queue,
	}
	locked := w.NewBucket(t, everything)
	if _, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: locked, Parameters: everything}); err != nil {
		t.Error(err)
	}
	parameters := map[string]string{"versioning": "true", "deleteNonEmpty": "true"}
	var buckets []string
	for range 16 {
		buckets = append(buckets, w.NewBucket(t, parameters))
	}
	account, large, asPod := drivertest.NewAccount(), drivertest.NewAccount(), drivertest.NewAccount()
	rotated := grantRequest(account, readWrite, buckets[0])
	for _, rotation := range []string{"", "1", "2"} {
		rotated.Rotation = rotation
		mustSucceed(t, putObject(t, workload(t, w.MustGrant(t, rotated)), buckets[0], "key"))
	}
	for range 2 {
		w.MustGrant(t, grantRequest(large, readWrite, buckets...))
	}
	shop := pod{namespace: "ns", account: "sa"}
	w.MustGrant(t, shop.grantRequest(asPod, readWrite, buckets[0]))

	admin, group := iamClient(server.URL(), on.rootID, on.rootSecret), aws.String("readers")
	_, err := admin.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: group, Path: aws.String(accountPath)})
	mustSucceed(t, err)
	_, err = admin.AddUserToGroup(t.Context(), &iam.AddUserToGroupInput{GroupName: group, UserName: &account})
	mustSucceed(t, err)

	mustSucceed(t, shop.revoke(t, w, asPod, buckets[0]))
	mustSucceed(t, w.revoke(t, large, buckets...))
	mustSucceed(t, w.revoke(t, account, buckets[0]))
	for _, bucket := range buckets {
		mustSucceed(t, w.Delete(t, bucket, parameters))
	}
	mustSucceed(t, w.Delete(t, locked, everything))
	if left := server.Inventory(); len(left.Users) != len(before.Users) || len(left.Buckets)+len(left.Roles)+len(left.Associations) != 0 {
		t.Errorf("left are users %v, buckets %v, roles %v", left.Users, left.Buckets, left.Roles)
	}
}

const (
	accountPath   = "/cosi/s3.cooper.dev/"
	administrator = "arn:aws:iam::aws:policy/AdministratorAccess"
	anything      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
	forAnybody    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
)

// TestRightsEndAtWhatIsNotTheDrivers simulates an attacker with the driver's key, who must not gain access to
// anything but the driver's buckets.
func TestRightsEndAtWhatIsNotTheDrivers(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{Clusters: map[string]string{eksCluster: "https://a.example.com", "other": "https://b.example.com"}})
	on = least(t, on, "bc-")
	rootIAM, rootS3 := iamClient(server.URL(), on.rootID, on.rootSecret), s3Client(server.URL(), "us-east-1", on.rootID, on.rootSecret)
	id, secret := on.backend.Credentials.AccessKeyID, on.backend.Credentials.SecretAccessKey.Reveal()
	own, ownS3 := iamClient(server.URL(), id, secret), s3Client(server.URL(), "us-east-1", id, secret)
	pods := eks.New(eks.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: fixedCredentials(id, secret)})
	path, boundary := aws.String(accountPath), &on.backend.IAM.PermissionsBoundary
	bounded, person, unbounded, guards, foreign, role := aws.String("bounded"), aws.String("person"), aws.String("unbounded"), aws.String("guards"), aws.String("company"), aws.String("boss")

	_, err := own.CreateUser(t.Context(), &iam.CreateUserInput{UserName: bounded, Path: path, PermissionsBoundary: boundary})
	mustSucceed(t, err)
	_, err = own.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: bounded, Path: path, PermissionsBoundary: boundary, AssumeRolePolicyDocument: aws.String(forAnybody)})
	mustSucceed(t, err)
	_, err = rootIAM.CreateUser(t.Context(), &iam.CreateUserInput{UserName: person})
	mustSucceed(t, err)
	_, err = rootIAM.CreateUser(t.Context(), &iam.CreateUserInput{UserName: unbounded, Path: path})
	mustSucceed(t, err)
	boss, err := rootIAM.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: aws.String(forAnybody)})
	mustSucceed(t, err)
	_, err = rootIAM.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: guards})
	mustSucceed(t, err)
	_, err = rootIAM.AddUserToGroup(t.Context(), &iam.AddUserToGroupInput{GroupName: guards, UserName: person})
	mustSucceed(t, err)
	_, err = rootS3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: foreign})
	mustSucceed(t, err)

	bind := func(cluster, arn string) error {
		_, err := pods.CreatePodIdentityAssociation(t.Context(), &eks.CreatePodIdentityAssociationInput{
			ClusterName: &cluster, Namespace: aws.String("ns"), ServiceAccount: aws.String("sa"), RoleArn: &arn,
		})
		return err
	}
	tries := map[string]func() error{
		"AdministratorAccess for itself": func() error {
			_, err := own.AttachUserPolicy(t.Context(), &iam.AttachUserPolicyInput{UserName: aws.String("driver"), PolicyArn: aws.String(administrator)})
			return err
		},
		"AdministratorAccess for a user of its own": func() error {
			_, err := own.AttachUserPolicy(t.Context(), &iam.AttachUserPolicyInput{UserName: bounded, PolicyArn: aws.String(administrator)})
			return err
		},
		"a user without the boundary": func() error {
			_, err := own.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("free"), Path: path})
			return err
		},
		"a user with another boundary": func() error {
			_, err := own.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("wide"), Path: path, PermissionsBoundary: aws.String(administrator)})
			return err
		},
		"a role without the boundary": func() error {
			_, err := own.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("free"), Path: path, AssumeRolePolicyDocument: aws.String(forAnybody)})
			return err
		},
		"everything for a user that has no boundary": func() error {
			_, err := own.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: unbounded, PolicyName: aws.String("p"), PolicyDocument: aws.String(anything)})
			return err
		},
		"the removal of the boundary": func() error {
			_, err := own.DeleteUserPermissionsBoundary(t.Context(), &iam.DeleteUserPermissionsBoundaryInput{UserName: bounded})
			return err
		},
		"a changed boundary": func() error {
			_, err := own.CreatePolicyVersion(t.Context(), &iam.CreatePolicyVersionInput{PolicyArn: boundary, PolicyDocument: aws.String(anything), SetAsDefault: true})
			return err
		},
		"a key of another owner's user": func() error {
			_, err := own.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: person})
			return err
		},
		"the removal of another owner's user from a group": func() error {
			_, err := own.RemoveUserFromGroup(t.Context(), &iam.RemoveUserFromGroupInput{UserName: person, GroupName: guards})
			return err
		},
		"another owner's role for a pod":     func() error { return bind(eksCluster, *boss.Role.Arn) },
		"a role for pods of another cluster": func() error { return bind("other", "arn:aws:iam::000000000000:role"+accountPath+*bounded) },
		"a bucket with a name of others": func() error {
			_, err := ownS3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("company-2")})
			return err
		},
		"the contents of another owner's bucket": func() error {
			_, err := ownS3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: foreign})
			return err
		},
		"the deletion of another owner's object": func() error {
			_, err := ownS3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: foreign, Key: aws.String("key")})
			return err
		},
		"delete another owner's bucket": func() error {
			_, err := ownS3.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: foreign})
			return err
		},
	}
	for name, try := range tries {
		if code := apiCode(t, try()); code != "AccessDenied" && code != "AccessDeniedException" {
			t.Errorf("%s: %q, want it refused", name, code)
		}
	}

	_, err = own.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{UserName: bounded, PolicyName: aws.String("p"), PolicyDocument: aws.String(anything)})
	mustSucceed(t, err)
	key, err := own.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: bounded})
	mustSucceed(t, err)
	id, secret = *key.AccessKey.AccessKeyId, *key.AccessKey.SecretAccessKey
	_, err = s3Client(server.URL(), "us-east-1", id, secret).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: foreign})
	if code := apiCode(t, err); code != "AccessDenied" {
		t.Errorf("a user with a policy for everything lists another owner's bucket: %q", code)
	}
	_, err = iamClient(server.URL(), id, secret).CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("free")})
	if code := apiCode(t, err); code != "AccessDenied" {
		t.Errorf("a user with a policy for everything makes users: %q", code)
	}
}

// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestTerraformReadsABucket sends the reads with which Terraform's resource aws_s3_bucket ends an apply and begins each
// plan (resourceBucketRead in internal/service/s3/bucket.go of terraform-provider-aws). It fails on any other error
// code, so each must be the one that Amazon S3 returns for a new bucket.
func TestTerraformReadsABucket(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "state")
	client, name, ctx := f.s3(f.Root()), "state", t.Context()
	for call, c := range map[string]struct {
		send func() error
		code string
	}{
		"HeadBucket": {func() error { _, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}); return err }, ""},
		"GetBucketPolicy": {func() error {
			_, err := client.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &name})
			return err
		}, "NoSuchBucketPolicy"},
		"GetBucketAcl":  {func() error { _, err := client.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: &name}); return err }, ""},
		"GetBucketCors": {func() error { _, err := client.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: &name}); return err }, "NoSuchCORSConfiguration"},
		"GetBucketWebsite": {func() error {
			_, err := client.GetBucketWebsite(ctx, &s3.GetBucketWebsiteInput{Bucket: &name})
			return err
		}, "NoSuchWebsiteConfiguration"},
		"GetBucketVersioning": {func() error {
			_, err := client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &name})
			return err
		}, ""},
		"GetBucketAccelerateConfiguration": {func() error {
			_, err := client.GetBucketAccelerateConfiguration(ctx, &s3.GetBucketAccelerateConfigurationInput{Bucket: &name})
			return err
		}, ""},
		"GetBucketLogging": {func() error {
			_, err := client.GetBucketLogging(ctx, &s3.GetBucketLoggingInput{Bucket: &name})
			return err
		}, ""},
		"GetBucketLifecycleConfiguration": {func() error {
			_, err := client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &name})
			return err
		}, "NoSuchLifecycleConfiguration"},
		"GetBucketReplication": {func() error {
			_, err := client.GetBucketReplication(ctx, &s3.GetBucketReplicationInput{Bucket: &name})
			return err
		}, "ReplicationConfigurationNotFoundError"},
		"GetBucketEncryption": {func() error {
			_, err := client.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: &name})
			return err
		}, ""},
		"GetObjectLockConfiguration": {func() error {
			_, err := client.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &name})
			return err
		}, "ObjectLockConfigurationNotFoundError"},
		"GetBucketTagging": {func() error {
			_, err := client.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &name})
			return err
		}, "NoSuchTagSet"},
	} {
		if got := code(t, c.send()); got != c.code {
			t.Errorf("%s: got code %q, want %q", call, got, c.code)
		}
	}
	payment, err := client.GetBucketRequestPayment(ctx, &s3.GetBucketRequestPaymentInput{Bucket: &name})
	wantNoError(t, err)
	if payment.Payer != types.PayerBucketOwner {
		t.Errorf("got payer %q, want the bucket's owner", payment.Payer)
	}
}

// TestTerraformCreatesABucket sends the CreateBucket of aws_s3_bucket (resourceBucketCreate), which always contains the
// private ACL and a CreateBucketConfiguration. If the caller lacks s3:TagResource, the provider recognizes the error by its
// message and tags the bucket later.
func TestTerraformCreatesABucket(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		actions string
		region  string
		tags    []types.Tag
		refused string
	}{
		"without tags":                       {actions: "s3:CreateBucket", region: "us-east-1"},
		"without tags in another region":     {actions: "s3:CreateBucket", region: "eu-central-1"},
		"with tags":                          {actions: "s3:CreateBucket s3:TagResource", region: "us-east-1", tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}},
		"with tags in another region":        {actions: "s3:CreateBucket s3:TagResource", region: "eu-central-1", tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}},
		"with tags, without that permission": {actions: "s3:CreateBucket", region: "us-east-1", tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}, refused: "is not authorized to perform: s3:TagResource"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, s3fake.Options{})
			config := f.config(f.user(t, "terraform", allow(tc.actions, "*")))
			config.Region = tc.region
			client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
			in := &s3.CreateBucketInput{
				Bucket: aws.String("state"), ACL: types.BucketCannedACLPrivate,
				CreateBucketConfiguration: &types.CreateBucketConfiguration{Tags: tc.tags},
			}
			if tc.region != "us-east-1" {
				in.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(tc.region)
			}
			_, err := client.CreateBucket(t.Context(), in)
			if tc.refused == "" {
				wantNoError(t, err)
			} else if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want an error that contains %q", err, tc.refused)
			}
		})
	}
}

// TestTerraformWaitsForALifecycle puts rules as aws_s3_bucket_lifecycle_configuration does. The provider then waits until
// it reads the same rules, which it compares with reflect.DeepEqual, and after a deletion until there are none.
func TestTerraformWaitsForALifecycle(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "state")
	client, name, ctx := f.s3(f.Root()), "state", t.Context()
	expire := &types.LifecycleExpiration{Days: aws.Int32(10)}
	tag := types.Tag{Key: aws.String("k"), Value: aws.String("v")}
	rules := []types.LifecycleRule{
		{Filter: &types.LifecycleRuleFilter{}, Expiration: expire},
		{Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")}, Expiration: expire},
		{Filter: &types.LifecycleRuleFilter{Prefix: aws.String("logs/")}, Expiration: &types.LifecycleExpiration{Date: aws.Time(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))}},
		{Filter: &types.LifecycleRuleFilter{Tag: &tag}, Expiration: &types.LifecycleExpiration{ExpiredObjectDeleteMarker: aws.Bool(false)}},
		{Filter: &types.LifecycleRuleFilter{ObjectSizeGreaterThan: aws.Int64(0)}, AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(7)}},
		{
			Filter:                       &types.LifecycleRuleFilter{And: &types.LifecycleRuleAndOperator{Prefix: aws.String("a"), Tags: []types.Tag{tag}, ObjectSizeLessThan: aws.Int64(9)}},
			Transitions:                  []types.Transition{{Days: aws.Int32(0), StorageClass: types.TransitionStorageClassIntelligentTiering}, {Days: aws.Int32(90), StorageClass: types.TransitionStorageClassGlacier}},
			NoncurrentVersionExpiration:  &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(3), NewerNoncurrentVersions: aws.Int32(2)},
			NoncurrentVersionTransitions: []types.NoncurrentVersionTransition{{NoncurrentDays: aws.Int32(1), StorageClass: types.TransitionStorageClassGlacierIr}},
		},
		{Prefix: aws.String("old/"), Expiration: expire},
	}
	for i := range rules {
		rules[i].ID, rules[i].Status = aws.String(strings.Repeat("r", i+1)), types.ExpirationStatusEnabled
	}
	put, err := client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &name, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
		TransitionDefaultMinimumObjectSize: types.TransitionDefaultMinimumObjectSizeVariesByStorageClass,
	})
	wantNoError(t, err)
	got, err := client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &name})
	wantNoError(t, err)
	if got.TransitionDefaultMinimumObjectSize != put.TransitionDefaultMinimumObjectSize || len(got.Rules) != len(rules) {
		t.Errorf("got %d rules and minimum %q, want %d and %q", len(got.Rules), got.TransitionDefaultMinimumObjectSize, len(rules), put.TransitionDefaultMinimumObjectSize)
	}
	for i := range min(len(rules), len(got.Rules)) {
		if !reflect.DeepEqual(got.Rules[i], rules[i]) {
			t.Errorf("rule %d: got %+v, want %+v", i, got.Rules[i], rules[i])
		}
	}
	_, err = client.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: &name})
	wantNoError(t, err)
	_, err = client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &name})
	if got := code(t, err); got != "NoSuchLifecycleConfiguration" {
		t.Errorf("after the deletion: got code %q", got)
	}
}

// TestTerraformDeletesIdentities sends the calls that aws_iam_role, and aws_iam_user with force_destroy, make before they
// delete a role or user (DeleteRole in internal/service/iam/role.go, resourceUserDelete in user.go).
func TestTerraformDeletesIdentities(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	client, name, ctx := f.iam(f.Root()), aws.String("app"), t.Context()
	_, err := client.CreateUser(ctx, &iam.CreateUserInput{UserName: name})
	wantNoError(t, err)
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`)})
	wantNoError(t, err)
	found := func(call string, n int) {
		t.Helper()
		if n != 0 {
			t.Errorf("%s: got %d, want none", call, n)
		}
	}
	profiles, err := client.ListInstanceProfilesForRole(ctx, &iam.ListInstanceProfilesForRoleInput{RoleName: name})
	wantNoError(t, err)
	found("ListInstanceProfilesForRole", len(profiles.InstanceProfiles))
	ssh, err := client.ListSSHPublicKeys(ctx, &iam.ListSSHPublicKeysInput{UserName: name})
	wantNoError(t, err)
	found("ListSSHPublicKeys", len(ssh.SSHPublicKeys))
	virtual, err := client.ListVirtualMFADevices(ctx, &iam.ListVirtualMFADevicesInput{AssignmentStatus: "Assigned"})
	wantNoError(t, err)
	found("ListVirtualMFADevices", len(virtual.VirtualMFADevices))
	devices, err := client.ListMFADevices(ctx, &iam.ListMFADevicesInput{UserName: name})
	wantNoError(t, err)
	found("ListMFADevices", len(devices.MFADevices))
	certificates, err := client.ListSigningCertificates(ctx, &iam.ListSigningCertificatesInput{UserName: name})
	wantNoError(t, err)
	found("ListSigningCertificates", len(certificates.Certificates))
	credentials, err := client.ListServiceSpecificCredentials(ctx, &iam.ListServiceSpecificCredentialsInput{UserName: name})
	wantNoError(t, err)
	found("ListServiceSpecificCredentials", len(credentials.ServiceSpecificCredentials))
	_, err = client.DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: name})
	if got := code(t, err); got != "NoSuchEntity" {
		t.Errorf("DeleteLoginProfile: got code %q", got)
	}
	_, err = client.ListInstanceProfilesForRole(ctx, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String("other")})
	if got := code(t, err); got != "NoSuchEntity" {
		t.Errorf("the instance profiles of a role that does not exist: got code %q", got)
	}
	_, err = client.DeleteUser(ctx, &iam.DeleteUserInput{UserName: name})
	wantNoError(t, err)
	_, err = client.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})
	wantNoError(t, err)
}

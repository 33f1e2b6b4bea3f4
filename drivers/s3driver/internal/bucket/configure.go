// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// configure writes all settings that cannot be part of the creation, and then the mark of a complete bucket. All steps
// can be repeated.
func (s *Store) configure(ctx context.Context, name string, want params.Bucket) error {
	region := inRegion(s.regionOf(want))
	steps := []struct {
		wanted    bool
		parameter string // the class parameter that the step applies; empty for none
		run       func() error
	}{
		{s.PublicAccessBlock, "", func() error { return s.blockPublicAccess(ctx, name, region) }},
		{want.Versioning, "versioning", func() error { return s.enableVersioning(ctx, name, region) }},
		{want.Encryption != "", "encryption", func() error { return s.encrypt(ctx, name, want, region) }},
		{want.Retention != nil, "objectLockMode", func() error { return s.retain(ctx, name, want, region) }},
		{want.Lifecycle != nil, "lifecycle", func() error { return s.putLifecycle(ctx, name, want, region) }},
		{want.CORS != nil, "cors", func() error { return s.putCORS(ctx, name, want, region) }},
		{want.Events != nil, params.KeyEventQueue, func() error { return s.replaceEvents(ctx, name, want, region) }},
		{s.limits(want), "quota", func() error { return s.Quotas.Set(ctx, name, want.Quota, want.QuotaObjects) }},
	}
	for _, step := range steps {
		if !step.wanted {
			continue
		}
		err := step.run()
		if err != nil && step.parameter != "" {
			return apierror.Translate("bucket "+name+", parameter "+step.parameter, err)
		}
		if err != nil {
			return err
		}
	}
	complete := s.markFor(want)
	complete.state = stateReady
	return s.writeMark(ctx, name, complete, want)
}

// limits reports whether the bucket needs a quota that the store can set.
func (s *Store) limits(want params.Bucket) bool {
	return s.Quotas != nil && (want.Quota != 0 || want.QuotaObjects != 0)
}

// blockPublicAccess ensures that no policy or ACL can make the bucket public. Stores that do not support the call
// have no such setting, but their buckets are private.
func (s *Store) blockPublicAccess(ctx context.Context, name string, region func(*s3.Options)) error {
	yes := aws.Bool(true)
	_, err := s.API.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: &name,
		PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(!s.AcceptsPublicACLs), BlockPublicPolicy: yes, IgnorePublicAcls: yes, RestrictPublicBuckets: yes,
		},
	}, region)
	if apierror.Unsupported(err) {
		return nil
	}
	return err
}

func (s *Store) enableVersioning(ctx context.Context, name string, region func(*s3.Options)) error {
	_, err := s.API.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket:                  &name,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}, region)
	return err
}

func (s *Store) encrypt(ctx context.Context, name string, want params.Bucket, region func(*s3.Options)) error {
	byDefault := &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256}
	rule := types.ServerSideEncryptionRule{ApplyServerSideEncryptionByDefault: byDefault}
	if want.Encryption == params.EncryptionKMS {
		byDefault.SSEAlgorithm = types.ServerSideEncryptionAwsKms
		rule.BucketKeyEnabled = aws.Bool(true)
		if want.KMSKey != "" {
			byDefault.KMSMasterKeyID = aws.String(want.KMSKey)
		}
	}
	_, err := s.API.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket:                            &name,
		ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{rule}},
	}, region)
	return err
}

func (s *Store) retain(ctx context.Context, name string, want params.Bucket, region func(*s3.Options)) error {
	_, err := s.API.PutObjectLockConfiguration(ctx, &s3.PutObjectLockConfigurationInput{
		Bucket: &name,
		ObjectLockConfiguration: &types.ObjectLockConfiguration{
			ObjectLockEnabled: types.ObjectLockEnabledEnabled,
			Rule:              &types.ObjectLockRule{DefaultRetention: want.Retention},
		},
	}, region)
	return err
}

func (s *Store) putLifecycle(ctx context.Context, name string, want params.Bucket, region func(*s3.Options)) error {
	_, err := s.API.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &name, LifecycleConfiguration: want.Lifecycle,
	}, region)
	return err
}

func (s *Store) putCORS(ctx context.Context, name string, want params.Bucket, region func(*s3.Options)) error {
	_, err := s.API.PutBucketCors(ctx, &s3.PutBucketCorsInput{Bucket: &name, CORSConfiguration: want.CORS}, region)
	return err
}

// encryption returns the default encryption of a bucket, or empty values if there is none.
func (s *Store) encryption(ctx context.Context, name, region string) (types.ServerSideEncryption, string, error) {
	out, err := s.API.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: &name}, inRegion(region))
	if apierror.Is(err, "ServerSideEncryptionConfigurationNotFoundError", "ServerSideEncryptionConfigurationNotFound") || apierror.Unsupported(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	if out.ServerSideEncryptionConfiguration == nil {
		return "", "", nil
	}
	for _, rule := range out.ServerSideEncryptionConfiguration.Rules {
		if byDefault := rule.ApplyServerSideEncryptionByDefault; byDefault != nil {
			return byDefault.SSEAlgorithm, aws.ToString(byDefault.KMSMasterKeyID), nil
		}
	}
	return "", "", nil
}

// KMSKey returns the key that encrypts the bucket's objects, or "" if the bucket has no key of its own.
func (s *Store) KMSKey(ctx context.Context, name, region string) (string, error) {
	_, key, err := s.encryption(ctx, name, region)
	return key, err
}

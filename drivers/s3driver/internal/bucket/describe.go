// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// Describe returns the region of an existing bucket that COSI did not create, after comparing it with the requested
// parameters. It changes nothing.
func (s *Store) Describe(ctx context.Context, name string, want params.Bucket) (string, error) {
	region, err := s.Locate(ctx, name)
	if err != nil {
		return "", err
	}
	var differences []string
	if want.Region != "" && want.Region != region {
		differences = append(differences, "its region is "+region)
	}
	live, err := s.compare(ctx, name, region, want)
	if err != nil {
		return "", err
	}
	if differences = append(differences, live...); len(differences) > 0 {
		return "", driverkit.AlreadyExists("bucket %s does not match the parameters: %s", name, strings.Join(differences, "; "))
	}
	return region, nil
}

// compare returns how an existing bucket differs from the requested parameters. It checks only requested settings.
func (s *Store) compare(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	aspects := []func(ctx context.Context, name, region string, want params.Bucket) ([]string, error){
		s.compareVersioning, s.compareLock, s.compareTags, s.compareEncryption, s.compareLifecycle, s.compareCORS,
		s.compareEvents, s.compareQuota,
	}
	var differences []string
	for _, aspect := range aspects {
		found, err := aspect(ctx, name, region, want)
		if err != nil {
			return nil, err
		}
		differences = append(differences, found...)
	}
	return differences, nil
}

func (s *Store) compareVersioning(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if !want.Versioning {
		return nil, nil
	}
	out, err := s.API.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &name}, inRegion(region))
	if err != nil || out.Status == types.BucketVersioningStatusEnabled {
		return nil, err
	}
	return []string{"its versioning is not enabled"}, nil
}

func (s *Store) compareLock(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if !want.ObjectLock {
		return nil, nil
	}
	out, err := s.API.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &name}, inRegion(region))
	if apierror.Is(err, "ObjectLockConfigurationNotFoundError", "ObjectLockConfigurationNotFound") {
		return []string{"it was created without object lock"}, nil
	}
	if err != nil {
		return nil, err
	}
	if out.ObjectLockConfiguration == nil || out.ObjectLockConfiguration.ObjectLockEnabled != types.ObjectLockEnabledEnabled {
		return []string{"it was created without object lock"}, nil
	}
	if want.Retention == nil {
		return nil, nil
	}
	found := types.DefaultRetention{}
	if rule := out.ObjectLockConfiguration.Rule; rule != nil && rule.DefaultRetention != nil {
		found = *rule.DefaultRetention
	}
	if found.Mode != want.Retention.Mode || aws.ToInt32(found.Days) != aws.ToInt32(want.Retention.Days) || aws.ToInt32(found.Years) != 0 {
		return []string{"its default retention differs"}, nil
	}
	return nil, nil
}

// compareLifecycle requires exactly the requested rules, because an additional rule may delete objects. Their order
// does not matter.
func (s *Store) compareLifecycle(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if want.Lifecycle == nil {
		return nil, nil
	}
	out, err := s.API.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &name}, inRegion(region))
	if apierror.Is(err, "NoSuchLifecycleConfiguration") {
		return []string{"it has no lifecycle configuration"}, nil
	}
	if err != nil {
		return nil, err
	}
	wanted, err := texts(want.Lifecycle.Rules, plainRule)
	if err != nil {
		return nil, err
	}
	found, err := texts(out.Rules, plainRule)
	if err != nil {
		return nil, err
	}
	slices.Sort(wanted)
	slices.Sort(found)
	if slices.Equal(wanted, found) {
		return nil, nil
	}
	return []string{"its lifecycle configuration differs"}, nil
}

// plainRule normalizes a rule, which has several equivalent forms. It removes the name, which the store chooses if
// the class does not.
func plainRule(rule types.LifecycleRule) types.LifecycleRule {
	prefix := rule.Prefix //nolint:staticcheck // the old form, which classes and stores still use
	rule.Prefix = nil     //nolint:staticcheck // as above
	if rule.Filter == nil {
		rule.Filter = &types.LifecycleRuleFilter{Prefix: prefix}
	}
	if filter := *rule.Filter; filter == (types.LifecycleRuleFilter{}) {
		rule.Filter = &types.LifecycleRuleFilter{Prefix: aws.String("")}
	}
	rule.ID = nil
	return rule
}

// compareCORS requires exactly the requested rules in their order, because the first matching rule applies.
func (s *Store) compareCORS(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if want.CORS == nil {
		return nil, nil
	}
	out, err := s.API.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: &name}, inRegion(region))
	if apierror.Is(err, "NoSuchCORSConfiguration") {
		return []string{"it has no CORS configuration"}, nil
	}
	if err != nil {
		return nil, err
	}
	nameless := func(rule types.CORSRule) types.CORSRule {
		rule.ID = nil
		return rule
	}
	wanted, err := texts(want.CORS.CORSRules, nameless)
	if err != nil {
		return nil, err
	}
	found, err := texts(out.CORSRules, nameless)
	if err != nil {
		return nil, err
	}
	if slices.Equal(wanted, found) {
		return nil, nil
	}
	return []string{"its CORS configuration differs"}, nil
}

// texts returns each rule as text that is equal for equal rules.
func texts[T any](rules []T, plain func(T) T) ([]string, error) {
	all := make([]string, 0, len(rules))
	for _, rule := range rules {
		text, err := json.Marshal(plain(rule))
		if err != nil {
			return nil, fmt.Errorf("compare rules: %w", err)
		}
		all = append(all, string(text))
	}
	return all, nil
}

// compareTags requires the requested tags and ignores others.
func (s *Store) compareTags(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if len(want.Tags) == 0 {
		return nil, nil
	}
	out, err := s.API.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &name}, inRegion(region))
	if apierror.Is(err, "NoSuchTagSet", "NoSuchTagSetError") || apierror.Unsupported(err) {
		return []string{"it has no tags"}, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, tag := range out.TagSet {
		found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	var differences []string
	for _, tag := range want.Tags {
		key := aws.ToString(tag.Key)
		if value, set := found[key]; !set || value != aws.ToString(tag.Value) {
			differences = append(differences, fmt.Sprintf("its tag %q differs", key))
		}
	}
	return differences, nil
}

func (s *Store) compareEncryption(ctx context.Context, name, region string, want params.Bucket) ([]string, error) {
	if want.Encryption == "" {
		return nil, nil
	}
	algorithm, key, err := s.encryption(ctx, name, region)
	if err != nil {
		return nil, err
	}
	wanted := types.ServerSideEncryptionAes256
	if want.Encryption == params.EncryptionKMS {
		wanted = types.ServerSideEncryptionAwsKms
	}
	if algorithm != wanted {
		return []string{fmt.Sprintf("its encryption is %q, not %q", algorithm, wanted)}, nil
	}
	if want.KMSKey != "" && !sameKey(key, want.KMSKey) {
		return []string{"it is encrypted with another key"}, nil
	}
	return nil, nil
}

// sameKey compares two names of KMS keys. An ID and an ARN that ends with it name the same key.
func sameKey(a, b string) bool {
	if strings.HasPrefix(a, "arn:") == strings.HasPrefix(b, "arn:") {
		return a == b
	}
	id := func(name string) string { return name[strings.LastIndexAny(name, ":/")+1:] }
	return id(a) == id(b)
}

func (s *Store) compareQuota(ctx context.Context, name, _ string, want params.Bucket) ([]string, error) {
	if !s.limits(want) {
		return nil, nil
	}
	is, err := s.Quotas.Is(ctx, name, want.Quota, want.QuotaObjects)
	if err != nil || is {
		return nil, err
	}
	return []string{"its quota differs"}, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// Update sets the given keys of a bucket to their values in changed. want has the parameters with which Ensure created the
// bucket. It returns the region of the bucket, or NotFound.
//
// The mark still has the hash of want, so Ensure accepts the bucket afterwards and does not revert the update. All steps
// can be repeated.
func (s *Store) Update(ctx context.Context, name string, want, changed params.Bucket, keys []string) (string, error) {
	region := s.regionOf(want)
	found, err := driverkit.Reread(ctx, s.ReadLag, isMissing, func(ctx context.Context) (mark, error) { return s.readMark(ctx, name, region) })
	if isMissing(err) {
		return "", driverkit.NotFound("bucket %s no longer exists in the store; its parameters were not changed", name).WithDetail(err)
	}
	if err != nil {
		return "", err
	}
	if err := s.complete(ctx, name, found, want); err != nil {
		return "", err
	}
	for _, step := range []struct {
		keys []string
		run  func() error
	}{
		{[]string{params.KeyLifecycle}, func() error { return s.replaceLifecycle(ctx, name, changed, inRegion(region)) }},
		{[]string{params.KeyCORS}, func() error { return s.replaceCORS(ctx, name, changed, inRegion(region)) }},
		{[]string{params.KeyEventQueue, params.KeyEventTypes}, func() error { return s.replaceEvents(ctx, name, changed, inRegion(region)) }},
		{[]string{params.KeyQuota, params.KeyQuotaObjects}, func() error { return s.replaceQuota(ctx, name, changed) }},
	} {
		if !slices.ContainsFunc(step.keys, func(key string) bool { return slices.Contains(keys, key) }) {
			continue
		}
		if err := step.run(); err != nil {
			return "", apierror.Translate("bucket "+name+", parameter "+step.keys[0], err)
		}
	}
	return region, nil
}

func (s *Store) replaceLifecycle(ctx context.Context, name string, changed params.Bucket, region func(*s3.Options)) error {
	if changed.Lifecycle != nil {
		return s.putLifecycle(ctx, name, changed, region)
	}
	_, err := s.API.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: &name}, region)
	if apierror.Is(err, "NoSuchLifecycleConfiguration") || apierror.Unsupported(err) {
		return nil
	}
	return err
}

func (s *Store) replaceCORS(ctx context.Context, name string, changed params.Bucket, region func(*s3.Options)) error {
	if changed.CORS != nil {
		return s.putCORS(ctx, name, changed, region)
	}
	_, err := s.API.DeleteBucketCors(ctx, &s3.DeleteBucketCorsInput{Bucket: &name}, region)
	if apierror.Is(err, "NoSuchCORSConfiguration") || apierror.Unsupported(err) {
		return nil
	}
	return err
}

// replaceQuota sets both limits. A store without quotas has none to remove.
func (s *Store) replaceQuota(ctx context.Context, name string, changed params.Bucket) error {
	if s.Quotas == nil {
		return nil
	}
	return s.Quotas.Set(ctx, name, changed.Quota, changed.QuotaObjects)
}

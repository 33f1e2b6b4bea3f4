// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Delete ensures that the bucket does not exist. A non-empty bucket is an error unless nonEmpty is true; Delete then
// deletes its contents, including versions, delete markers and unfinished uploads. It never bypasses retention. If
// Delete fails, the objects that it has deleted remain deleted, so repeated calls eventually succeed.
func (s *Store) Delete(ctx context.Context, name string, nonEmpty bool) error {
	region, err := driverkit.Reread(ctx, s.ReadLag, isMissing, func(ctx context.Context) (string, error) {
		region, err := s.locate(ctx, name)
		if err == nil {
			err = s.checkOwner(ctx, name, region)
		}
		return region, err
	})
	if err == nil {
		err = s.remove(ctx, name, region, nonEmpty)
	}
	if err == nil || isMissing(err) {
		return s.Notes.forget(ctx, name)
	}
	if s.ofAnotherAccount(ctx, name, err) {
		return driverkit.FailedPrecondition("bucket %s belongs to another account, so it is not deleted", name).WithDetail(err)
	}
	return err
}

func (s *Store) checkOwner(ctx context.Context, name, region string) error {
	found, err := s.readMark(ctx, name, region)
	if err != nil {
		return err
	}
	if found.driver != s.Driver || found.cluster != s.Cluster {
		return driverkit.FailedPrecondition("bucket %s does not have this driver's ownership mark or belongs to another user, so the driver does not delete it; delete it manually if it is unused", name)
	}
	return nil
}

func (s *Store) remove(ctx context.Context, name, region string, nonEmpty bool) error {
	deleted, err := s.deleteEmpty(ctx, name, region)
	if deleted || err != nil {
		return err
	}
	if !nonEmpty {
		return driverkit.FailedPrecondition("bucket %s is not empty; delete its objects, or set deletionPolicy Retain on its Bucket to keep the bucket (new buckets are emptied if their class sets deleteNonEmpty)", name)
	}
	if err := s.empty(ctx, name, region); err != nil {
		return err
	}
	return s.deleteBucket(ctx, name, region)
}

// deleteEmpty deletes the bucket if it is empty, and reports whether it did.
func (s *Store) deleteEmpty(ctx context.Context, name, region string) (bool, error) {
	if s.DeletesObjects {
		page, err := s.API.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &name, MaxKeys: aws.Int32(1)}, inRegion(region))
		if err != nil || len(identifiers(page)) > 0 {
			return false, err
		}
	}
	err := s.deleteBucket(ctx, name, region)
	if apierror.Is(err, "BucketNotEmpty") {
		return false, nil
	}
	return err == nil, err
}

func (s *Store) deleteBucket(ctx context.Context, name, region string) error {
	_, err := s.API.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name}, inRegion(region))
	return err
}

func (s *Store) empty(ctx context.Context, name, region string) error {
	if err := s.abortUploads(ctx, name, region); err != nil {
		return err
	}
	pages := s3.NewListObjectVersionsPaginator(s.API, &s3.ListObjectVersionsInput{Bucket: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, inRegion(region))
		if err != nil {
			return err
		}
		if err := s.deleteObjects(ctx, name, region, identifiers(page)); err != nil {
			return err
		}
	}
	return nil
}

func identifiers(page *s3.ListObjectVersionsOutput) []types.ObjectIdentifier {
	var found []types.ObjectIdentifier
	for _, version := range page.Versions {
		found = append(found, types.ObjectIdentifier{Key: version.Key, VersionId: version.VersionId})
	}
	for _, marker := range page.DeleteMarkers {
		found = append(found, types.ObjectIdentifier{Key: marker.Key, VersionId: marker.VersionId})
	}
	return found
}

// deleteObjects deletes one page of objects. The call as a whole succeeds even if single objects cannot be deleted.
func (s *Store) deleteObjects(ctx context.Context, name, region string, objects []types.ObjectIdentifier) error {
	if len(objects) == 0 {
		return nil
	}
	out, err := s.API.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &name,
		Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)},
	}, inRegion(region))
	if err != nil {
		return err
	}
	if len(out.Errors) == 0 {
		return nil
	}
	failure := out.Errors[0]
	detail := fmt.Errorf("%d objects were not deleted, the first one: %s: %s", len(out.Errors), aws.ToString(failure.Code), aws.ToString(failure.Message))
	if aws.ToString(failure.Code) == "AccessDenied" {
		return driverkit.FailedPrecondition("bucket %s contains protected objects (for example under retention); the driver deletes the bucket when they can be deleted", name).WithDetail(detail)
	}
	return driverkit.Unavailable("bucket %s: the store did not delete all objects; the driver tries again", name).WithDetail(detail)
}

func (s *Store) abortUploads(ctx context.Context, name, region string) error {
	pages := s3.NewListMultipartUploadsPaginator(s.API, &s3.ListMultipartUploadsInput{Bucket: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, inRegion(region))
		if err != nil {
			return err
		}
		for _, upload := range page.Uploads {
			_, err := s.API.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &name, Key: upload.Key, UploadId: upload.UploadId}, inRegion(region))
			if err != nil && !apierror.Is(err, "NoSuchUpload") {
				return err
			}
		}
	}
	return nil
}

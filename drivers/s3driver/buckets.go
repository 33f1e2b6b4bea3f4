// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// BucketID implements driverkit.IDGenerator.
func (d *Driver) BucketID(_ context.Context, request driverkit.BucketIDRequest) (string, error) {
	want, err := params.ParseBucket(request.Parameters)
	if err != nil {
		return "", err
	}
	backend, err := d.backends.OfClass(want.Backend)
	if err != nil {
		return "", err
	}
	if err := backend.checkBucket(want); err != nil {
		return "", err
	}
	return d.backends.JoinID(backend.name, names.Buckets().Fit(want.NamePrefix, request.Name)), nil
}

// CreateBucket implements driverkit.Driver.
func (d *Driver) CreateBucket(ctx context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	backend, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	if err != nil {
		return driverkit.BucketInfo{}, err
	}
	if !names.CouldExist(name) {
		return driverkit.BucketInfo{}, driverkit.InvalidArgument("bucket_id %q is not a valid S3 bucket name", request.BucketID)
	}
	if err := d.checkID(ctx, request.BucketID); err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := d.usage.note(ctx, backend.name); err != nil {
		return driverkit.BucketInfo{}, err
	}
	region, err := backend.ensure(ctx, name, want, request.Update)
	if err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(name, region), nil
}

// ensure creates the bucket, or changes it if there is an update.
func (b *backend) ensure(ctx context.Context, name string, want params.Bucket, update *driverkit.BucketUpdate) (string, error) {
	if update == nil {
		return b.buckets.Ensure(ctx, name, want)
	}
	changed, err := params.ParseBucket(update.Parameters)
	if err != nil {
		return "", err
	}
	if err := b.checkBucket(changed); err != nil {
		return "", err
	}
	return b.buckets.Update(ctx, name, want, changed, update.Changed)
}

// GetBucket implements driverkit.Driver.
func (d *Driver) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	backend, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	if err != nil {
		return driverkit.BucketInfo{}, err
	}
	if !names.CouldExist(name) {
		return driverkit.BucketInfo{}, driverkit.NotFound("bucket %s cannot exist: it is not a valid S3 bucket name", request.BucketID)
	}
	if err := d.checkID(ctx, request.BucketID); err != nil {
		return driverkit.BucketInfo{}, err
	}
	region, err := backend.buckets.Describe(ctx, name, want)
	if err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(name, region), nil
}

// DeleteBucket implements driverkit.Driver.
func (d *Driver) DeleteBucket(ctx context.Context, request driverkit.DeleteBucketRequest) error {
	backend, name := d.backends.SplitID(request.BucketID)
	if !names.CouldExist(name) || d.removed(request.BucketID) {
		return nil
	}
	if err := d.usage.check(ctx); err != nil {
		return err
	}
	return apierror.Translate("bucket "+name, backend.buckets.Delete(ctx, name, params.DeleteNonEmpty(request.Parameters)))
}

func (d *Driver) bucketRequest(id string, values driverkit.Values) (*backend, string, params.Bucket, error) {
	want, err := params.ParseBucket(values)
	if err != nil {
		return nil, "", params.Bucket{}, err
	}
	backend, name := d.backends.SplitID(id)
	if err := backend.checkBucket(want); err != nil {
		return nil, "", params.Bucket{}, err
	}
	return backend, name, want, nil
}

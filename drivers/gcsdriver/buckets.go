// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
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
	return d.backends.JoinID(backend.name, names.Buckets().Fit(want.NamePrefix, request.Name)), nil
}

// CreateBucket implements driverkit.Driver.
func (d *Driver) CreateBucket(ctx context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	backend, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	if err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := names.CheckBucket(name); err != nil {
		return driverkit.BucketInfo{}, driverkit.InvalidArgument("bucket_id %q cannot be the name of a new bucket: it %v", request.BucketID, err)
	}
	if err := backend.buckets.Ensure(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(name), nil
}

// GetBucket implements driverkit.Driver.
func (d *Driver) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	backend, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	if err != nil {
		return driverkit.BucketInfo{}, err
	}
	if !names.CouldExist(name) {
		return driverkit.BucketInfo{}, driverkit.NotFound("bucket %s cannot exist: it is not a valid Cloud Storage bucket name", request.BucketID)
	}
	if err := backend.buckets.Describe(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(name), nil
}

// DeleteBucket implements driverkit.Driver.
func (d *Driver) DeleteBucket(ctx context.Context, request driverkit.DeleteBucketRequest) error {
	backend, name := d.backends.SplitID(request.BucketID)
	if !names.CouldExist(name) {
		return nil
	}
	return apierror.Translate("bucket "+name, backend.buckets.Delete(ctx, name, params.DeleteNonEmpty(request.Parameters)))
}

func (d *Driver) bucketRequest(id string, values driverkit.Values) (*backend, string, params.Bucket, error) {
	want, err := params.ParseBucket(values)
	if err != nil {
		return nil, "", params.Bucket{}, err
	}
	backend, name := d.backends.SplitID(id)
	if want.Backend != "" && want.Backend != backend.name {
		return nil, "", params.Bucket{}, driverkit.InvalidArgument("parameter backend is %q, but the bucket ID belongs to backend %q", want.Backend, backend.name)
	}
	return backend, name, want, nil
}

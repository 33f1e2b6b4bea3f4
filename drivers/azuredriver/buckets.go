// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// BucketID implements driverkit.IDGenerator.
func (d *Driver) BucketID(_ context.Context, request driverkit.BucketIDRequest) (string, error) {
	want, err := params.ParseBucket(request.Parameters)
	if err != nil {
		return "", err
	}
	account, err := d.accountFor(want.Account)
	if err != nil {
		return "", err
	}
	return d.joinID(account.name, containerNames().Fit(want.NamePrefix, request.Name)), nil
}

// CreateBucket implements driverkit.Driver.
func (d *Driver) CreateBucket(ctx context.Context, request driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	account, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	switch {
	case err != nil:
		return driverkit.BucketInfo{}, err
	case name == "":
		return driverkit.BucketInfo{}, driverkit.InvalidArgument("bucket_id %q is not the name of a container, alone or after the name of a storage account and a dot", request.BucketID)
	}
	if err := account.use(ctx); err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := account.containers.Ensure(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return account.info(), nil
}

// GetBucket implements driverkit.Driver.
func (d *Driver) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	account, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	switch {
	case err != nil:
		return driverkit.BucketInfo{}, err
	case name == "":
		return driverkit.BucketInfo{}, driverkit.NotFound("bucket %s cannot exist: it is not the name of a container of Azure, alone or after the name of a storage account and a dot", request.BucketID)
	}
	if err := account.use(ctx); err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := account.containers.Describe(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return account.info(), nil
}

// DeleteBucket implements driverkit.Driver.
func (d *Driver) DeleteBucket(ctx context.Context, request driverkit.DeleteBucketRequest) error {
	account, name := d.splitID(request.BucketID)
	switch {
	case name == "" || account == nil && !mayBeOurs(request.BucketID):
		return nil
	case account == nil:
		return unknownAccount(request.BucketID)
	}
	if err := account.use(ctx); err != nil {
		return err
	}
	return apierror.Translate("bucket "+name, account.containers.Delete(ctx, name, params.DeleteNonEmpty(request.Parameters)))
}

// bucketRequest reads a request about a bucket. The name is empty for an ID that no bucket can have.
func (d *Driver) bucketRequest(id string, values driverkit.Values) (*account, string, params.Bucket, error) {
	want, err := params.ParseBucket(values)
	if err != nil {
		return nil, "", params.Bucket{}, err
	}
	account, name := d.splitID(id)
	if name == "" {
		return nil, "", want, nil
	}
	if account == nil {
		return nil, "", want, unknownAccount(id)
	}
	if want.Account != "" && want.Account != account.name {
		return nil, "", want, driverkit.InvalidArgument("parameter account is %q, but the bucket ID belongs to storage account %q", want.Account, account.name)
	}
	return account, name, want, nil
}

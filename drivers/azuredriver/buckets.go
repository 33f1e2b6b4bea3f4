// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
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
	switch {
	case err != nil:
		return driverkit.BucketInfo{}, err
	case name == "":
		return driverkit.BucketInfo{}, driverkit.InvalidArgument("bucket_id %q is neither <container> nor <storage account>.<container>", request.BucketID)
	}
	if err := backend.use(ctx); err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := backend.buckets.Ensure(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(), nil
}

// GetBucket implements driverkit.Driver.
func (d *Driver) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	backend, name, want, err := d.bucketRequest(request.BucketID, request.Parameters)
	switch {
	case err != nil:
		return driverkit.BucketInfo{}, err
	case name == "":
		return driverkit.BucketInfo{}, driverkit.NotFound("bucket %s cannot exist: it is neither <container> nor <storage account>.<container>", request.BucketID)
	}
	if err := backend.use(ctx); err != nil {
		return driverkit.BucketInfo{}, err
	}
	if err := backend.buckets.Describe(ctx, name, want); err != nil {
		return driverkit.BucketInfo{}, apierror.Translate("bucket "+name, err)
	}
	return backend.info(), nil
}

// DeleteBucket implements driverkit.Driver.
func (d *Driver) DeleteBucket(ctx context.Context, request driverkit.DeleteBucketRequest) error {
	backend, name := d.splitID(request.BucketID)
	switch {
	case name == "" || backend == nil && !names.MayBeOurs(request.BucketID):
		return nil
	case backend == nil:
		return unknownAccount(request.BucketID)
	}
	if err := backend.use(ctx); err != nil {
		return err
	}
	return apierror.Translate("bucket "+name, backend.buckets.Delete(ctx, name, params.DeleteNonEmpty(request.Parameters)))
}

// bucketRequest parses a request about a bucket. The name is empty for an ID that no bucket can have.
func (d *Driver) bucketRequest(id string, values driverkit.Values) (*backend, string, params.Bucket, error) {
	want, err := params.ParseBucket(values)
	if err != nil {
		return nil, "", params.Bucket{}, err
	}
	backend, name := d.splitID(id)
	if name == "" {
		return nil, "", want, nil
	}
	if backend == nil {
		return nil, "", want, unknownAccount(id)
	}
	if want.Backend != "" && want.Backend != backend.name {
		return nil, "", want, driverkit.InvalidArgument("parameter account is %q, but the bucket ID belongs to storage account %q", want.Backend, backend.name)
	}
	return backend, name, want, nil
}

// splitID returns the storage account and the container of an ID. The account is nil if the ID names one that is not
// configured. The container is empty if the ID is invalid. An ID that names the default account explicitly is
// invalid, because each container must have only one ID: IDs are compared as text before a deletion.
func (d *Driver) splitID(id string) (*backend, string) {
	owner, name, found := strings.Cut(id, ".")
	if !found {
		owner, name = d.config.DefaultBackend, id
	}
	twice := found && owner == d.config.DefaultBackend
	if twice || !names.Buckets().Made(name) || names.CheckStorageAccount(owner) != nil || name == d.config.RecordsContainer {
		return nil, ""
	}
	return d.backends.ByName[owner], name
}

// unknownAccount returns the error for an ID whose storage account is not configured.
func unknownAccount(id string) error {
	owner, _, _ := strings.Cut(id, ".")
	return driverkit.FailedPrecondition("bucket %s is in storage account %s, which is not in this driver's configuration; an administrator has to add the storage account", id, owner)
}

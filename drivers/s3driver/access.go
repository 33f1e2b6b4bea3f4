// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// AccountID implements driverkit.IDGenerator.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	backend, asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return "", err
	}
	asked.Name = storeName("", request.Name, maxAccountName)
	asked.ID = d.joinID(backend.name, asked.Name)
	return asked.ID, backend.accounts.Check(asked)
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	backend, asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	asked.ID = request.AccountID
	owner, name := d.splitID(request.AccountID)
	if owner != backend {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q belongs to backend %s, but the buckets belong to backend %s", request.AccountID, owner.name, backend.name)
	}
	if asked.Name = name; !isAccountName(name) {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q is not one that this driver made", request.AccountID)
	}
	access := driverkit.Access{Buckets: map[string]driverkit.BucketInfo{}}
	for i := range asked.Buckets {
		region, err := backend.lookUp(ctx, &asked.Buckets[i])
		if err != nil {
			return driverkit.Access{}, apierror.Translate("bucket "+asked.Buckets[i].Name, err)
		}
		access.Buckets[request.Buckets[i].BucketID] = backend.info(asked.Buckets[i].Name, region)
	}
	credential, err := backend.accounts.Grant(ctx, asked)
	if err != nil {
		return driverkit.Access{}, apierror.Translate("account "+name, err)
	}
	access.Credential = driverkit.Credential{
		S3:                   &driverkit.S3Credential{AccessKeyID: credential.ID, SecretKey: credential.Secret},
		CertificateAuthority: backend.certificateAuthority,
	}
	return access, nil
}

// RevokeAccess implements driverkit.Driver. The account ID tells what to remove; a missing bucket
// blocks nothing.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	backend, name := d.splitID(request.AccountID)
	if !isAccountName(name) {
		return nil
	}
	granted := account.Request{ID: request.AccountID, Name: name}
	for _, id := range request.BucketIDs {
		if owner, bucket := d.splitID(id); owner == backend {
			granted.Buckets = append(granted.Buckets, policy.Bucket{Name: bucket})
		}
	}
	err := backend.accounts.Revoke(ctx, granted)
	return apierror.Translate("account "+name, err)
}

// accessRequest reads what is asked, and finds the one backend that holds all the buckets. The
// buckets are in the order of the request.
func (d *Driver) accessRequest(spec driverkit.AccessSpec) (*backend, account.Request, error) {
	options := params.ParseAccess(spec.Parameters)
	asked := account.Request{Rotation: spec.Rotation, AcceptShared: options.AcceptShared}
	var shared *backend
	for _, wanted := range spec.Buckets {
		backend, name := d.splitID(wanted.BucketID)
		if shared != nil && shared != backend {
			return nil, account.Request{}, driverkit.OutOfRange("the buckets belong to different backends (%s, %s), and no account reaches both; make one access for each", shared.name, backend.name)
		}
		shared = backend
		access := policy.Access{
			ObjectData:     policy.DirectionOf(wanted.ObjectData),
			ObjectMetadata: policy.DirectionOf(wanted.ObjectMetadata),
			BucketMetadata: policy.DirectionOf(wanted.BucketMetadata),
			NoDelete:       options.NoDelete,
		}
		if err := access.Check(); err != nil {
			return nil, account.Request{}, driverkit.InvalidArgument("bucket %s: %v", wanted.BucketID, err)
		}
		asked.Buckets = append(asked.Buckets, policy.Bucket{Name: name, Access: access})
	}
	if shared == nil {
		return nil, account.Request{}, driverkit.InvalidArgument("buckets is required")
	}
	hash, err := digest(struct {
		Buckets    []policy.Bucket
		Parameters driverkit.Values
	}{asked.Buckets, spec.Parameters})
	asked.Hash = hash
	return shared, asked, err
}

// lookUp answers the region of a bucket and completes what only the store knows of it.
func (b *backend) lookUp(ctx context.Context, wanted *policy.Bucket) (string, error) {
	region, err := b.buckets.Locate(ctx, wanted.Name)
	if err != nil {
		return "", err
	}
	wanted.KMSKey, err = b.buckets.KMSKey(ctx, wanted.Name, region)
	return region, err
}

// isAccountName says whether AccountID can have made the name.
func isAccountName(name string) bool {
	return len(name) <= maxAccountName && plainName.MatchString(name)
}

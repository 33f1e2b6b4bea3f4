// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// AccountID implements driverkit.IDGenerator.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	backend, asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return "", err
	}
	asked.Name = names.Accounts().Fit("", request.Name)
	asked.ID = d.backends.JoinID(backend.name, asked.Name)
	return asked.ID, backend.check(request.AuthType, asked)
}

// check returns an error for requests that the backend cannot grant. It makes no calls.
func (b *backend) check(authType driverkit.AuthType, asked account.Request) error {
	switch {
	case authType != driverkit.ServiceAccount:
		return b.accounts.Check(asked)
	case b.identities == nil:
		return driverkit.InvalidArgument("authentication type %s is not supported by backend %s: its configuration has no iam.serviceAccounts; use %s", authType, b.name, driverkit.Key)
	default:
		return b.identities.Check(asked)
	}
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if err := d.checkID(ctx, request.AccountID); err != nil {
		return driverkit.Access{}, err
	}
	backend, asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	asked.ID = request.AccountID
	owner, name := d.backends.SplitID(request.AccountID)
	if owner != backend {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q belongs to backend %s, but the buckets belong to backend %s", request.AccountID, owner.name, backend.name)
	}
	if asked.Name = name; !names.Accounts().Made(name) {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q is not one that this driver made", request.AccountID)
	}
	if err := backend.check(request.AuthType, asked); err != nil {
		return driverkit.Access{}, err
	}
	if asked.AWSAccount, err = backend.owner.get(ctx); err != nil {
		return driverkit.Access{}, apierror.Translate("account "+name, err)
	}
	access := driverkit.Access{Buckets: map[string]driverkit.BucketInfo{}}
	for i := range asked.Buckets {
		region, err := backend.lookUp(ctx, &asked.Buckets[i], asked.AWSAccount)
		if err != nil {
			return driverkit.Access{}, apierror.Translate("bucket "+asked.Buckets[i].Name, err)
		}
		access.Buckets[request.Buckets[i].BucketID] = backend.info(asked.Buckets[i].Name, region)
	}
	if err := d.usage.note(ctx, backend.name); err != nil {
		return driverkit.Access{}, err
	}
	access.Credential, err = backend.grant(ctx, request.AuthType, asked)
	access.Shared = backend.kind.sharedKey
	return access, apierror.Translate("account "+name, err)
}

// grant grants the access and returns its credential, which has no key if the workload authenticates as its service
// account.
func (b *backend) grant(ctx context.Context, authType driverkit.AuthType, asked account.Request) (driverkit.Credential, error) {
	granted := driverkit.Credential{CertificateAuthority: b.authorities.PEM()}
	if authType == driverkit.ServiceAccount {
		return granted, b.identities.Grant(ctx, asked)
	}
	key, err := b.accounts.Grant(ctx, asked)
	granted.S3 = &driverkit.S3Credential{AccessKeyID: key.ID, SecretKey: key.Secret}
	return granted, err
}

// RevokeAccess implements driverkit.Driver. The account ID identifies what to remove, so a missing bucket does not
// prevent the revocation.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	if err := d.usage.check(ctx); err != nil {
		return err
	}
	backend, name := d.backends.SplitID(request.AccountID)
	if !names.Accounts().Made(name) || d.removed(request.AccountID) {
		return nil
	}
	granted := account.Request{ID: request.AccountID, Name: name, ServiceAccount: request.ServiceAccount}
	for _, id := range request.BucketIDs {
		if owner, bucket := d.backends.SplitID(id); owner == backend {
			granted.Buckets = append(granted.Buckets, policy.Bucket{Name: bucket})
		}
	}
	revoke := backend.accounts.Revoke
	if request.AuthType == driverkit.ServiceAccount {
		if backend.identities == nil {
			return driverkit.FailedPrecondition("account %s was granted to a service account, but the configuration of backend %s has no iam.serviceAccounts any more; restore it until the account is revoked", name, backend.name)
		}
		revoke = backend.identities.Revoke
	}
	err := revoke(ctx, granted)
	return apierror.Translate("account "+name, err)
}

// accessRequest parses the request and finds the one backend that holds all the buckets. The buckets keep the order
// of the request.
func (d *Driver) accessRequest(spec driverkit.AccessSpec) (*backend, account.Request, error) {
	options := params.ParseAccess(spec.Parameters)
	asked := account.Request{
		ServiceAccount: spec.ServiceAccount, Rotation: spec.Rotation, AcceptShared: options.AcceptShared, Disallowed: spec.Disallowed,
	}
	var shared *backend
	for _, wanted := range spec.Buckets {
		backend, name := d.backends.SplitID(wanted.BucketID)
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
		if err := spec.Disallowed.Check(policy.Effective(wanted)); err != nil {
			return nil, account.Request{}, err
		}
		asked.Buckets = append(asked.Buckets, policy.Bucket{Name: name, Access: access})
	}
	if shared == nil {
		return nil, account.Request{}, driverkit.InvalidArgument("buckets is required")
	}
	hash, err := driverkit.Digest(struct {
		Buckets    []policy.Bucket
		Parameters driverkit.Values
	}{asked.Buckets, spec.Parameters})
	asked.Hash = hash
	return shared, asked, err
}

// lookUp returns the region of a bucket and fills in the facts that only the store can provide.
func (b *backend) lookUp(ctx context.Context, wanted *policy.Bucket, awsAccount string) (string, error) {
	region, err := b.buckets.Locate(ctx, wanted.Name)
	if err != nil || !b.kind.iam {
		// In other stores using a key needs no separate permission, and they reject policies that name one.
		return region, err
	}
	key, err := b.buckets.KMSKey(ctx, wanted.Name, region)
	if err != nil {
		return region, err
	}
	wanted.KMSKey, err = policy.KMSResource(b.config.IAM.Partition, region, awsAccount, key)
	return region, err
}

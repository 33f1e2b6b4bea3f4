// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// AccountID implements driverkit.IDGenerator.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	backend, _, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return "", err
	}
	return d.backends.JoinID(backend.name, names.Accounts().Fit("", request.Name)), nil
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	backend, asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	owner, name := d.backends.SplitID(request.AccountID)
	if owner != backend {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q belongs to backend %s, but the buckets belong to backend %s", request.AccountID, owner.name, backend.name)
	}
	if !names.Accounts().Made(name) {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q is not one that this driver made", request.AccountID)
	}
	asked.ID, asked.Name = request.AccountID, name
	access := driverkit.Access{Buckets: map[string]driverkit.BucketInfo{}}
	for i, bucket := range asked.Buckets {
		// Check this before creating anything, because it can take a long time until a missing bucket appears.
		if _, err := backend.buckets.Get(ctx, bucket.Name); err != nil {
			return driverkit.Access{}, apierror.Translate("bucket "+bucket.Name, err)
		}
		access.Buckets[request.Buckets[i].BucketID] = backend.info(bucket.Name)
	}
	if request.AuthType == driverkit.ServiceAccount {
		err := backend.principals.Grant(ctx, asked)
		return access, apierror.Translate("account "+name, err)
	}
	credential, err := backend.accounts.Grant(ctx, asked)
	if err != nil {
		return driverkit.Access{}, apierror.Translate("account "+name, err)
	}
	access.Credential = driverkit.Credential{GCS: &credential, CertificateAuthority: backend.authorities.PEM()}
	return access, nil
}

// RevokeAccess implements driverkit.Driver. The account ID identifies what to remove, so a missing bucket does not
// prevent the revocation.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	backend, name := d.backends.SplitID(request.AccountID)
	if !names.Accounts().Made(name) || backend.config.WithoutAccounts {
		return nil
	}
	granted := account.Request{ID: request.AccountID, Name: name, Credentials: params.ParseAccess(request.Parameters).Credentials}
	for _, id := range request.BucketIDs {
		if owner, bucket := d.backends.SplitID(id); owner == backend && names.CouldExist(bucket) {
			granted.Buckets = append(granted.Buckets, account.Bucket{Name: bucket})
		}
	}
	revoke := backend.accounts.Revoke
	if request.AuthType == driverkit.ServiceAccount {
		revoke = backend.principals.Revoke
	}
	return apierror.Translate("account "+name, revoke(ctx, granted))
}

// accessRequest parses the request and finds the one backend that holds all the buckets. The buckets keep the order
// of the request.
func (d *Driver) accessRequest(spec driverkit.AccessSpec) (*backend, account.Request, error) {
	options := params.ParseAccess(spec.Parameters)
	if spec.OnlyPairs && options.Credentials.WantsJSON() {
		return nil, account.Request{}, driverkit.InvalidArgument("parameter credentials is %q, but a sidecar of this version of COSI delivers nothing but HMAC pairs; leave it out, or say %q", options.Credentials, params.HMAC)
	}
	asked := account.Request{Rotation: spec.Rotation, Credentials: options.Credentials}
	s3Client := spec.AuthType == driverkit.Key && options.Credentials.WantsHMAC() && !options.NoBucketReader
	var shared *backend
	for _, wanted := range spec.Buckets {
		backend, name := d.backends.SplitID(wanted.BucketID)
		if shared != nil && shared != backend {
			return nil, account.Request{}, driverkit.OutOfRange("the buckets belong to different backends (%s, %s), and no account reaches both; make one access for each", shared.name, backend.name)
		}
		shared = backend
		if !names.CouldExist(name) {
			return nil, account.Request{}, driverkit.InvalidArgument("bucket_id %q is not a bucket name of Cloud Storage", wanted.BucketID)
		}
		granted, err := backend.rolesFor(wanted, s3Client, spec.Disallowed)
		if err != nil {
			return nil, account.Request{}, err
		}
		asked.Buckets = append(asked.Buckets, account.Bucket{Name: name, Roles: granted})
	}
	if shared == nil {
		return nil, account.Request{}, driverkit.InvalidArgument("buckets is required")
	}
	if err := shared.identify(spec, &asked); err != nil {
		return nil, account.Request{}, err
	}
	hash, err := requestHash(spec)
	asked.Hash = hash
	return shared, asked, err
}

// rolesFor returns the roles for a bucket, or an error if there are none. The role with which S3 clients find the
// bucket also shows its metadata, so it is omitted if the class disallows that.
func (b *backend) rolesFor(wanted driverkit.BucketAccess, s3Client bool, disallowed driverkit.DisallowedModes) ([]string, error) {
	found := driverkit.BucketAccess{BucketMetadata: wanted.BucketMetadata.With(driverkit.ReadOnly)}
	granted, err := b.roles.For(policy.Access{
		ObjectData: wanted.ObjectData, ObjectMetadata: wanted.ObjectMetadata, BucketMetadata: wanted.BucketMetadata,
		S3Client: s3Client && disallowed.Check(found) == nil,
	})
	if err != nil {
		return nil, driverkit.InvalidArgument("bucket %s: %v", wanted.BucketID, err)
	}
	return granted, disallowed.Check(policy.Effective(wanted))
}

// identify determines the principal of a Kubernetes service account.
func (b *backend) identify(spec driverkit.AccessSpec, asked *account.Request) error {
	if b.config.WithoutAccounts {
		return driverkit.InvalidArgument("backend %s is an emulator without accounts (withoutAccounts in the configuration): it lets everybody do everything, and no access can be granted", b.name)
	}
	if spec.AuthType != driverkit.ServiceAccount {
		return nil
	}
	switch {
	case b.config.WorkloadIdentity.Pool == "":
		return driverkit.InvalidArgument("authentication type ServiceAccount is not supported by backend %s: its configuration has no workloadIdentity; use Key", b.name)
	case spec.ServiceAccount.Namespace == "":
		return driverkit.InvalidArgument("service_account_namespace is required: Google knows a service account by namespace and name")
	}
	asked.Principal = b.config.WorkloadIdentity.principal(spec.ServiceAccount.Namespace, spec.ServiceAccount.Name)
	return nil
}

// requestHash returns a value that is equal for requests for equal accounts. It is computed from the requested access
// and not from the resulting roles, so an administrator can change the roles.
func requestHash(spec driverkit.AccessSpec) (string, error) {
	return driverkit.Digest(struct {
		Buckets        []driverkit.BucketAccess
		AuthType       driverkit.AuthType
		ServiceAccount driverkit.ServiceAccountRef
		Parameters     driverkit.Values
	}{spec.Buckets, spec.AuthType, spec.ServiceAccount, spec.Parameters})
}

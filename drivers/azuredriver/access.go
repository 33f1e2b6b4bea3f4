// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// AccountID implements driverkit.IDGenerator.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	if _, err := d.accessRequest(request.AccessSpec); err != nil {
		return "", err
	}
	return names.Accounts().Fit("", request.Name), nil
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if !names.Accounts().Made(request.AccountID) {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q is not one that this driver made", request.AccountID)
	}
	asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	asked.ID = request.AccountID
	access := driverkit.Access{Buckets: map[string]driverkit.BucketInfo{}}
	for _, bucket := range asked.Buckets {
		backend := d.backends.ByName[bucket.StorageAccount]
		if err := backend.use(ctx); err != nil {
			return driverkit.Access{}, err
		}
		access.Buckets[bucket.ID] = backend.info()
		access.Credential.CertificateAuthority = backend.authorities.PEM()
	}
	if request.AuthType == driverkit.ServiceAccount {
		return access, d.grantIdentity(ctx, asked)
	}
	bucket := asked.Buckets[0]
	backend := d.backends.ByName[bucket.StorageAccount]
	signed, err := backend.signatures.Grant(ctx, asked)
	if err != nil {
		return driverkit.Access{}, apierror.Translate("account "+asked.ID+" in bucket "+bucket.ID, err)
	}
	token := backend.config.publicURL(backend.name) + "/" + bucket.Name + "?" + signed.Query.Reveal()
	access.Credential.Azure = &driverkit.AzureCredential{Token: cosi.NewSecret(token), Expiry: signed.Expiry}
	return access, nil
}

// grantIdentity grants access to a service account.
func (d *Driver) grantIdentity(ctx context.Context, asked account.Request) error {
	for _, bucket := range asked.Buckets {
		// Azure would accept a role assignment on a container that does not exist.
		if err := d.backends.ByName[bucket.StorageAccount].buckets.Exists(ctx, bucket.Name); err != nil {
			return apierror.Translate("bucket "+bucket.ID, err)
		}
	}
	return apierror.Translate("account "+asked.ID, d.identities.Grant(ctx, asked))
}

// RevokeAccess implements driverkit.Driver. A missing bucket does not prevent the revocation.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	if !names.Accounts().Made(request.AccountID) {
		return nil
	}
	granted := account.Request{ID: request.AccountID}
	for _, id := range request.BucketIDs {
		backend, name := d.splitID(id)
		switch {
		case name == "" || backend == nil && !names.MayBeOurs(id):
			continue
		case backend == nil:
			return unknownAccount(id)
		}
		granted.Buckets = append(granted.Buckets, backend.bucket(id, name))
	}
	if request.AuthType != driverkit.ServiceAccount {
		return d.revokeSignatures(ctx, granted)
	}
	if d.identities == nil {
		return driverkit.FailedPrecondition("account %s is that of a service account, but this driver's configuration has no serviceAccounts; an administrator has to add it", request.AccountID)
	}
	return apierror.Translate("account "+request.AccountID, d.identities.Revoke(ctx, granted))
}

func (d *Driver) revokeSignatures(ctx context.Context, granted account.Request) error {
	for _, bucket := range granted.Buckets {
		backend := d.backends.ByName[bucket.StorageAccount]
		if err := backend.use(ctx); err != nil {
			return err
		}
		if err := backend.signatures.Revoke(ctx, bucket.Name, granted.ID); err != nil {
			return apierror.Translate("account "+granted.ID+" in bucket "+bucket.ID, err)
		}
	}
	return nil
}

// accessRequest parses the request and returns an error if Azure cannot grant it. The buckets keep the order of the
// request.
func (d *Driver) accessRequest(spec driverkit.AccessSpec) (account.Request, error) {
	options, err := params.ParseAccess(spec.Parameters)
	if err != nil {
		return account.Request{}, err
	}
	asked := account.Request{Parameters: options, ServiceAccount: spec.ServiceAccount, Rotation: spec.Rotation, Disallowed: spec.Disallowed}
	var last *backend
	for _, wanted := range spec.Buckets {
		access := policy.Access{
			ObjectData: wanted.ObjectData, ObjectMetadata: wanted.ObjectMetadata, BucketMetadata: wanted.BucketMetadata,
			NoDelete: options.NoDelete, DeleteVersions: options.DeleteVersions,
		}
		if err := access.Check(); err != nil {
			return account.Request{}, driverkit.InvalidArgument("bucket %s: %v", wanted.BucketID, err)
		}
		if err := spec.Disallowed.Check(policy.Effective(wanted)); err != nil {
			return account.Request{}, err
		}
		backend, name := d.splitID(wanted.BucketID)
		switch {
		case name == "":
			return account.Request{}, driverkit.NotFound("bucket %s cannot exist: it is not the name of a container of Azure", wanted.BucketID)
		case backend == nil:
			return account.Request{}, unknownAccount(wanted.BucketID)
		}
		bucket := backend.bucket(wanted.BucketID, name)
		bucket.Access = access
		asked.Buckets, last = append(asked.Buckets, bucket), backend
	}
	switch {
	case last == nil:
		return account.Request{}, driverkit.InvalidArgument("buckets is required")
	case spec.AuthType == driverkit.ServiceAccount:
		return asked, d.identities.Check(asked)
	default:
		return asked, last.signatures.Check(asked)
	}
}

// bucket returns the description of one of the storage account's buckets that account managers need.
func (b *backend) bucket(id, name string) account.Bucket {
	return account.Bucket{ID: id, Name: name, StorageAccount: b.name, ResourceID: b.config.ResourceID}
}

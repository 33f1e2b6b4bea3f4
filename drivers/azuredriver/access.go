// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/store"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// AccountID implements driverkit.IDGenerator.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	var err error
	if request.AuthType == driverkit.ServiceAccount {
		_, err = d.identityRequest(request.AccessSpec)
	} else {
		_, err = d.accessRequest(request.AccessSpec)
	}
	if err != nil {
		return "", err
	}
	return accountNames().Fit("", request.Name), nil
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if !accountNames().Made(request.AccountID) {
		return driverkit.Access{}, driverkit.InvalidArgument("account_id %q is not one that this driver made", request.AccountID)
	}
	if request.AuthType == driverkit.ServiceAccount {
		return d.grantIdentity(ctx, request)
	}
	asked, err := d.accessRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	asked.policy.Account = request.AccountID
	if err := asked.account.use(ctx); err != nil {
		return driverkit.Access{}, err
	}
	signed, err := asked.account.containers.Grant(ctx, asked.container, asked.policy)
	if err != nil {
		return driverkit.Access{}, apierror.Translate("account "+request.AccountID+" in bucket "+asked.id, err)
	}
	token := asked.account.config.publicURL(asked.account.name) + "/" + asked.container + "?" + signed.Query.Reveal()
	return driverkit.Access{
		Buckets: map[string]driverkit.BucketInfo{asked.id: asked.account.info()},
		Credential: driverkit.Credential{
			Azure:                &driverkit.AzureCredential{Token: cosi.NewSecret(token), Expiry: signed.Expiry},
			CertificateAuthority: asked.account.certificateAuthority,
		},
	}, nil
}

// RevokeAccess implements driverkit.Driver. A missing bucket blocks nothing.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	if !accountNames().Made(request.AccountID) {
		return nil
	}
	if request.AuthType == driverkit.ServiceAccount {
		return d.revokeIdentity(ctx, request)
	}
	for _, id := range request.BucketIDs {
		account, name := d.splitID(id)
		switch {
		case name == "" || account == nil && !mayBeOurs(id):
			continue
		case account == nil:
			return unknownAccount(id)
		}
		if err := account.use(ctx); err != nil {
			return err
		}
		if err := account.containers.Revoke(ctx, name, request.AccountID); err != nil {
			return apierror.Translate("account "+request.AccountID+" in bucket "+id, err)
		}
	}
	return nil
}

// accessRequest is what is asked for one container.
type accessRequest struct {
	id        string
	account   *account
	container string
	policy    policy.Request
}

// accessRequest reads what is asked. The kit lets only requests for one bucket through.
func (d *Driver) accessRequest(spec driverkit.AccessSpec) (accessRequest, error) {
	options, err := params.ParseAccess(spec.Parameters)
	if err != nil {
		return accessRequest{}, err
	}
	if len(spec.Buckets) != 1 {
		return accessRequest{}, driverkit.InvalidArgument("buckets must be one")
	}
	wanted := spec.Buckets[0]
	access := accessTo(wanted, options)
	if err := access.Check(); err != nil {
		return accessRequest{}, driverkit.InvalidArgument("bucket %s: %v", wanted.BucketID, err)
	}
	at, err := d.place(wanted.BucketID)
	if err != nil {
		return accessRequest{}, err
	}
	account, name := at.account, at.container
	if life := options.Lifetime; account.key == nil && life != 0 && (life < store.MinDelegated || life > store.MaxDelegated) {
		return accessRequest{}, driverkit.InvalidArgument("parameter expiry must be from 1h to 168h for bucket %s: its storage account does not accept its keys, and Azure ends other signatures after 7 days", wanted.BucketID)
	}
	return accessRequest{
		id: wanted.BucketID, account: account, container: name,
		policy: policy.Request{Permission: access.Permission(), Lifetime: options.Lifetime, Rotation: spec.Rotation},
	}, nil
}

func accessTo(wanted driverkit.BucketAccess, options params.Access) policy.Access {
	return policy.Access{
		ObjectData: wanted.ObjectData, ObjectMetadata: wanted.ObjectMetadata, BucketMetadata: wanted.BucketMetadata,
		NoDelete: options.NoDelete, DeleteVersions: options.DeleteVersions,
	}
}

// place finds where a bucket that is asked for is.
func (d *Driver) place(id string) (placed, error) {
	account, name := d.splitID(id)
	switch {
	case name == "":
		return placed{}, driverkit.NotFound("bucket %s cannot exist: it is not the name of a container of Azure", id)
	case account == nil:
		return placed{}, unknownAccount(id)
	}
	return placed{id, account, name}, nil
}

// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// identityRequest is what is asked for a service account.
type identityRequest struct {
	access  identity.Access
	buckets []placed
}

// placed is a bucket and where it is.
type placed struct {
	id        string
	account   *account
	container string
}

// identityRequest reads what is asked. The kit lets it through only if serviceAccounts is configured.
func (d *Driver) identityRequest(spec driverkit.AccessSpec) (identityRequest, error) {
	options, err := params.ParseAccess(spec.Parameters)
	if err != nil {
		return identityRequest{}, err
	}
	switch {
	case spec.ServiceAccount.Namespace == "":
		return identityRequest{}, driverkit.InvalidArgument("service_account_namespace is required: Azure knows a service account by namespace and name")
	case options.Lifetime != 0:
		return identityRequest{}, driverkit.InvalidArgument("parameter expiry is for authentication type Key: an identity does not end")
	case options.NoDelete || options.DeleteVersions:
		return identityRequest{}, driverkit.InvalidArgument("parameters allowDelete and deleteVersions are for authentication type Key: " +
			"with ServiceAccount, the roles in the driver's configuration say what accesses include")
	}
	asked := identityRequest{access: identity.Access{Namespace: spec.ServiceAccount.Namespace, Name: spec.ServiceAccount.Name}}
	for _, wanted := range spec.Buckets {
		grant, at, err := d.identityGrant(wanted)
		if err != nil {
			return identityRequest{}, err
		}
		asked.access.Grants, asked.buckets = append(asked.access.Grants, grant), append(asked.buckets, at)
	}
	return asked, nil
}

// identityGrant is the role for one bucket.
func (d *Driver) identityGrant(wanted driverkit.BucketAccess) (identity.Grant, placed, error) {
	if err := accessTo(wanted, params.Access{}).Check(); err != nil {
		return identity.Grant{}, placed{}, driverkit.InvalidArgument("bucket %s: %v", wanted.BucketID, err)
	}
	role := d.config.ServiceAccounts.Roles.byMode(wanted.ObjectData)
	if role == "" {
		return identity.Grant{}, placed{}, driverkit.InvalidArgument("bucket %s: Azure has no built-in role for object data %s; ask for ReadOnly or ReadWrite, "+
			"or let an administrator configure a custom role as serviceAccounts.roles.writeOnly", wanted.BucketID, wanted.ObjectData)
	}
	at, err := d.place(wanted.BucketID)
	if err != nil {
		return identity.Grant{}, placed{}, err
	}
	if at.account.config.ResourceID == "" {
		return identity.Grant{}, placed{}, driverkit.InvalidArgument("authentication type ServiceAccount is not supported for bucket %s: "+
			"the configuration of storage account %s has no resourceID; use Key", wanted.BucketID, at.account.name)
	}
	return d.grantAt(at, role, string(wanted.ObjectData)), at, nil
}

func (d *Driver) grantAt(at placed, role, mode string) identity.Grant {
	return identity.Grant{
		Bucket: at.id, Mode: mode,
		Scope: at.account.config.ResourceID + "/blobServices/default/containers/" + at.container,
		Role:  identity.RoleID(d.config.ServiceAccounts.SubscriptionID, role),
	}
}

// grantIdentity gives a service account access.
func (d *Driver) grantIdentity(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	asked, err := d.identityRequest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	answer := driverkit.Access{Buckets: map[string]driverkit.BucketInfo{}}
	for _, at := range asked.buckets {
		if err := at.account.use(ctx); err != nil {
			return driverkit.Access{}, err
		}
		// Azure would take a role at a container that does not exist.
		if err := at.account.containers.Exists(ctx, at.container); err != nil {
			return driverkit.Access{}, apierror.Translate("bucket "+at.id, err)
		}
		answer.Buckets[at.id] = at.account.info()
		answer.Credential.CertificateAuthority = at.account.certificateAuthority
	}
	asked.access.Account = request.AccountID
	if err := d.identities.Grant(ctx, asked.access); err != nil {
		return driverkit.Access{}, apierror.Translate("account "+request.AccountID, err)
	}
	return answer, nil
}

// revokeIdentity ends a service account's access.
func (d *Driver) revokeIdentity(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	if d.identities == nil {
		return driverkit.FailedPrecondition("account %s is that of a service account, but this driver's configuration has no serviceAccounts; an administrator has to add it", request.AccountID)
	}
	var grants []identity.Grant
	for _, id := range request.BucketIDs {
		owner, name := d.splitID(id)
		switch {
		case owner == nil && name != "" && mayBeOurs(id):
			return unknownAccount(id)
		case owner == nil || owner.config.ResourceID == "":
			continue
		}
		for _, role := range d.config.ServiceAccounts.Roles.all() {
			grants = append(grants, d.grantAt(placed{id, owner, name}, role, ""))
		}
	}
	return apierror.Translate("account "+request.AccountID, d.identities.Revoke(ctx, request.AccountID, grants))
}

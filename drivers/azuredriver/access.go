// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/signature"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
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
	return names.Accounts().Fit("", request.Name), nil
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if !names.Accounts().Made(request.AccountID) {
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
	if err := asked.backend.use(ctx); err != nil {
		return driverkit.Access{}, err
	}
	signed, err := asked.backend.signatures.Grant(ctx, asked.container, asked.policy)
	if err != nil {
		return driverkit.Access{}, apierror.Translate("account "+request.AccountID+" in bucket "+asked.id, err)
	}
	token := asked.backend.config.publicURL(asked.backend.name) + "/" + asked.container + "?" + signed.Query.Reveal()
	return driverkit.Access{
		Buckets: map[string]driverkit.BucketInfo{asked.id: asked.backend.info()},
		Credential: driverkit.Credential{
			Azure:                &driverkit.AzureCredential{Token: cosi.NewSecret(token), Expiry: signed.Expiry},
			CertificateAuthority: asked.backend.certificateAuthority,
		},
	}, nil
}

// RevokeAccess implements driverkit.Driver. A missing bucket blocks nothing.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	if !names.Accounts().Made(request.AccountID) {
		return nil
	}
	if request.AuthType == driverkit.ServiceAccount {
		return d.revokeIdentity(ctx, request)
	}
	for _, id := range request.BucketIDs {
		backend, name := d.splitID(id)
		switch {
		case name == "" || backend == nil && !names.MayBeOurs(id):
			continue
		case backend == nil:
			return unknownAccount(id)
		}
		if err := backend.use(ctx); err != nil {
			return err
		}
		if err := backend.signatures.Revoke(ctx, name, request.AccountID); err != nil {
			return apierror.Translate("account "+request.AccountID+" in bucket "+id, err)
		}
	}
	return nil
}

// accessRequest is what is asked for one container.
type accessRequest struct {
	id        string
	backend   *backend
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
	if life := options.Lifetime; at.backend.key == nil && life != 0 && (life < signature.MinDelegated || life > signature.MaxDelegated) {
		return accessRequest{}, driverkit.InvalidArgument("parameter expiry must be from 1h to 168h for bucket %s: its storage account does not accept its keys, and Azure ends other signatures after 7 days", wanted.BucketID)
	}
	return accessRequest{
		id: wanted.BucketID, backend: at.backend, container: at.container,
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
	backend, name := d.splitID(id)
	switch {
	case name == "":
		return placed{}, driverkit.NotFound("bucket %s cannot exist: it is not the name of a container of Azure", id)
	case backend == nil:
		return placed{}, unknownAccount(id)
	}
	return placed{id, backend, name}, nil
}

// identityRequest is what is asked for a service account.
type identityRequest struct {
	access  identity.Access
	buckets []placed
}

// placed is a bucket and where it is.
type placed struct {
	id        string
	backend   *backend
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
	if at.backend.config.ResourceID == "" {
		return identity.Grant{}, placed{}, driverkit.InvalidArgument("authentication type ServiceAccount is not supported for bucket %s: "+
			"the configuration of storage account %s has no resourceID; use Key", wanted.BucketID, at.backend.name)
	}
	return d.grantAt(at, role, string(wanted.ObjectData)), at, nil
}

func (d *Driver) grantAt(at placed, role, mode string) identity.Grant {
	return identity.Grant{
		Bucket: at.id, Mode: mode,
		Scope: at.backend.config.ResourceID + "/blobServices/default/containers/" + at.container,
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
		if err := at.backend.use(ctx); err != nil {
			return driverkit.Access{}, err
		}
		// Azure would take a role at a container that does not exist.
		if err := at.backend.buckets.Exists(ctx, at.container); err != nil {
			return driverkit.Access{}, apierror.Translate("bucket "+at.id, err)
		}
		answer.Buckets[at.id] = at.backend.info()
		answer.Credential.CertificateAuthority = at.backend.certificateAuthority
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
		case owner == nil && name != "" && names.MayBeOurs(id):
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

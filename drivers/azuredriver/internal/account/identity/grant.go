// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Grant ensures that the service account can use the containers. The request must have passed Check. Grant can be
// repeated after a failure at any point.
func (m *Manager) Grant(ctx context.Context, asked account.Request) error {
	principal, err := m.ensureIdentity(ctx, asked)
	if err != nil {
		return err
	}
	if err := m.ensureRoles(ctx, asked, principal); err != nil {
		return err
	}
	return m.federate(ctx, asked)
}

// ensureIdentity ensures that the access's identity exists and returns its object ID.
func (m *Manager) ensureIdentity(ctx context.Context, asked account.Request) (string, error) {
	found, err := m.Identities.Get(ctx, m.Group, asked.ID, nil)
	if apierror.Is(err, "ResourceNotFound") {
		tags := map[string]*string{tagDriver: to.Ptr(m.Driver), tagAccess: to.Ptr(digest(asked))}
		if m.Cluster != "" {
			tags[tagCluster] = to.Ptr(m.Cluster)
		}
		made, err := m.Identities.CreateOrUpdate(ctx, m.Group, asked.ID, armmsi.Identity{Location: to.Ptr(m.Location), Tags: tags}, nil)
		if err != nil {
			return "", err
		}
		return principalOf(made.Identity)
	}
	if err != nil {
		return "", err
	}
	switch {
	case !m.ours(found.Identity):
		return "", driverkit.AlreadyExists("the identity %s already exists and was not created by this driver; the driver does not change it", asked.ID)
	case value(found.Tags[tagAccess]) != digest(asked):
		return "", driverkit.AlreadyExists("account %s already exists with different buckets, access modes or service account", asked.ID)
	}
	return principalOf(found.Identity)
}

// ensureRoles creates the role assignments of the access and removes any others that the identity has.
func (m *Manager) ensureRoles(ctx context.Context, asked account.Request, principal string) error {
	present, err := m.assignments(ctx, principal)
	if err != nil {
		return err
	}
	for _, bucket := range asked.Buckets {
		g := m.at(bucket, m.Roles[bucket.Access.ObjectData])
		name := m.assignment(asked.ID, g)
		if i := slices.IndexFunc(present, func(one assigned) bool { return one.name == name }); i >= 0 {
			present = slices.Delete(present, i, i+1)
			continue
		}
		if err := m.assign(ctx, g, name, principal); err != nil {
			return err
		}
	}
	return m.unassign(ctx, present)
}

func (m *Manager) assign(ctx context.Context, g grant, name, principal string) error {
	wanted := armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
		PrincipalID: to.Ptr(principal), RoleDefinitionID: to.Ptr(g.role),
		// Without this, Azure would look up the principal, which may not have propagated everywhere yet.
		PrincipalType: to.Ptr(armauthorization.PrincipalTypeServicePrincipal),
	}}
	_, err := m.Assignments.Create(ctx, g.scope, name, wanted, nil)
	if apierror.Is(err, "RoleAssignmentUpdateNotPermitted") {
		// The assignment belongs to a deleted identity with the same name.
		if _, err = m.Assignments.Delete(ctx, g.scope, name, nil); err == nil {
			_, err = m.Assignments.Create(ctx, g.scope, name, wanted, nil)
		}
	}
	if apierror.Is(err, "RoleAssignmentExists") {
		return nil // assigned manually, under another name; it is removed with the others when the access is revoked
	}
	return err
}

// federate lets tokens of the service account authenticate as the identity.
func (m *Manager) federate(ctx context.Context, asked account.Request) error {
	subject := "system:serviceaccount:" + asked.ServiceAccount.Namespace + ":" + asked.ServiceAccount.Name
	found, err := m.Federated.Get(ctx, m.Group, asked.ID, credential, nil)
	if err == nil {
		is := found.Properties
		if is != nil && value(is.Issuer) == m.Issuer && value(is.Subject) == subject && len(is.Audiences) == 1 && value(is.Audiences[0]) == m.Audience {
			return nil
		}
	} else if !gone(err) {
		return err
	}
	_, err = m.Federated.CreateOrUpdate(ctx, m.Group, asked.ID, credential, armmsi.FederatedIdentityCredential{
		Properties: &armmsi.FederatedIdentityCredentialProperties{Issuer: to.Ptr(m.Issuer), Subject: to.Ptr(subject), Audiences: to.SliceOfPtrs(m.Audience)},
	}, nil)
	return err
}

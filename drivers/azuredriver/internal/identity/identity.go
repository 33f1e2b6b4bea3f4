// SPDX-License-Identifier: Apache-2.0

// Package identity lets Kubernetes service accounts use containers, through Azure Resource Manager: each access has a
// user-assigned managed identity of its own, which trusts the tokens of one service account and has a role at each of
// the access's containers.
//
// The identity is made first and removed last, so that whatever a crash leaves is found again through it. Nothing is
// kept anywhere else.
package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Audience is what tokens must be for, as Microsoft Entra asks in Azure's public cloud.
const Audience = "api://AzureADTokenExchange"

// credential is the name of the one federated credential of an identity.
const credential = "cosi"

// Tags of an identity that make it ours and say what it is for.
const (
	tagDriver  = "cosi_driver"
	tagCluster = "cosi_cluster"
	tagAccess  = "cosi_access"
)

// Manager makes and removes identities. All fields but Cluster are required.
type Manager struct {
	Identities  *armmsi.UserAssignedIdentitiesClient
	Federated   *armmsi.FederatedIdentityCredentialsClient
	Assignments *armauthorization.RoleAssignmentsClient
	// Group and Location are where identities are made.
	Group, Location string
	// Issuer is the URL of the cluster that issues the tokens, Audience what they must be for.
	Issuer, Audience string
	// Driver and Cluster are marked on every identity.
	Driver, Cluster string
	// Scopes are the resource IDs of all storage accounts.
	Scopes []string
}

// Access is what a service account gets.
type Access struct {
	// Account is the ID of the access, which names the identity.
	Account string
	// Namespace and Name are those of the service account.
	Namespace, Name string
	// Grants are what it may do.
	Grants []Grant
}

// Grant is a role at a container.
type Grant struct {
	// Bucket and Mode say what was asked for, whatever role that means today.
	Bucket, Mode string
	// Scope is the resource ID of the container, Role that of the role definition.
	Scope, Role string
}

// namespace makes the names of role assignments from what they are for.
var namespace = uuid.MustParse("0f8d5be1-1d52-4f0a-9b7e-6a5fd1a3d0c4")

// assignment is the name of the role assignment for a grant.
func (m *Manager) assignment(account string, g Grant) string {
	parts := []string{m.Driver, m.Cluster, account, strings.ToLower(g.Scope), strings.ToLower(roleUUID(g.Role))}
	return uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\n"))).String()
}

// roleUUID is the last part of a role definition's resource ID.
func roleUUID(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// digest is equal for equal accesses. Roles are left out: an administrator may configure others later.
func (a Access) digest() string {
	lines := []string{a.Namespace, a.Name}
	for _, g := range a.Grants {
		lines = append(lines, g.Bucket, g.Mode)
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:16])
}

// Grant makes sure that the service account may use the containers. It can be repeated after a failure at any point.
func (m *Manager) Grant(ctx context.Context, a Access) error {
	principal, err := m.ensureIdentity(ctx, a)
	if err != nil {
		return err
	}
	if err := m.ensureRoles(ctx, a, principal); err != nil {
		return err
	}
	return m.federate(ctx, a)
}

// ensureIdentity answers the object ID of the access's identity.
func (m *Manager) ensureIdentity(ctx context.Context, a Access) (string, error) {
	found, err := m.Identities.Get(ctx, m.Group, a.Account, nil)
	if apierror.Is(err, "ResourceNotFound") {
		tags := map[string]*string{tagDriver: to.Ptr(m.Driver), tagAccess: to.Ptr(a.digest())}
		if m.Cluster != "" {
			tags[tagCluster] = to.Ptr(m.Cluster)
		}
		made, err := m.Identities.CreateOrUpdate(ctx, m.Group, a.Account, armmsi.Identity{Location: to.Ptr(m.Location), Tags: tags}, nil)
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
		return "", driverkit.AlreadyExists("the identity %s exists and was not made by this driver; it is left alone", a.Account)
	case value(found.Tags[tagAccess]) != a.digest():
		return "", driverkit.AlreadyExists("account %s exists for other buckets, access modes or another service account", a.Account)
	}
	return principalOf(found.Identity)
}

func principalOf(found armmsi.Identity) (string, error) {
	if found.Properties == nil || value(found.Properties.PrincipalID) == "" {
		return "", driverkit.Unavailable("the identity %s has no principal yet; the driver tries again", value(found.Name))
	}
	return *found.Properties.PrincipalID, nil
}

func (m *Manager) ours(found armmsi.Identity) bool {
	return value(found.Tags[tagDriver]) == m.Driver && value(found.Tags[tagCluster]) == m.Cluster
}

// ensureRoles makes the role assignments of the access and removes what the identity has beyond them.
func (m *Manager) ensureRoles(ctx context.Context, a Access, principal string) error {
	present, err := m.assignments(ctx, principal)
	if err != nil {
		return err
	}
	for _, g := range a.Grants {
		name := m.assignment(a.Account, g)
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

func (m *Manager) assign(ctx context.Context, g Grant, name, principal string) error {
	asked := armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
		PrincipalID: to.Ptr(principal), RoleDefinitionID: to.Ptr(g.Role),
		// Without it, Azure would look the principal up, which it may not know everywhere yet.
		PrincipalType: to.Ptr(armauthorization.PrincipalTypeServicePrincipal),
	}}
	_, err := m.Assignments.Create(ctx, g.Scope, name, asked, nil)
	if apierror.Is(err, "RoleAssignmentUpdateNotPermitted") {
		// It is that of an identity of this name that somebody deleted.
		if _, err = m.Assignments.Delete(ctx, g.Scope, name, nil); err == nil {
			_, err = m.Assignments.Create(ctx, g.Scope, name, asked, nil)
		}
	}
	if apierror.Is(err, "RoleAssignmentExists") {
		return nil // by hand, under another name; it goes with the others when the access does
	}
	return err
}

// assigned is a role assignment.
type assigned struct{ scope, name string }

// assignments are those of a principal at the storage accounts and below.
func (m *Manager) assignments(ctx context.Context, principal string) ([]assigned, error) {
	var found []assigned
	// The SDK sends the filter as it is.
	filter := url.PathEscape("principalId eq '" + principal + "'")
	for _, scope := range m.Scopes {
		pages := m.Assignments.NewListForScopePager(scope, &armauthorization.RoleAssignmentsClientListForScopeOptions{Filter: &filter})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, one := range page.Value {
				if one == nil || one.Properties == nil || !under(value(one.Properties.Scope), scope) {
					continue
				}
				found = append(found, assigned{*one.Properties.Scope, strings.ToLower(value(one.Name))})
			}
		}
	}
	return found, nil
}

// under says whether a resource is the scope or below it.
func under(resource, scope string) bool {
	return strings.HasPrefix(strings.ToLower(resource)+"/", strings.ToLower(scope)+"/")
}

func (m *Manager) unassign(ctx context.Context, all []assigned) error {
	for _, one := range all {
		if _, err := m.Assignments.Delete(ctx, one.scope, one.name, nil); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// federate lets tokens of the service account log the identity in.
func (m *Manager) federate(ctx context.Context, a Access) error {
	subject := "system:serviceaccount:" + a.Namespace + ":" + a.Name
	found, err := m.Federated.Get(ctx, m.Group, a.Account, credential, nil)
	if err == nil {
		is := found.Properties
		if is != nil && value(is.Issuer) == m.Issuer && value(is.Subject) == subject && len(is.Audiences) == 1 && value(is.Audiences[0]) == m.Audience {
			return nil
		}
	} else if !gone(err) {
		return err
	}
	_, err = m.Federated.CreateOrUpdate(ctx, m.Group, a.Account, credential, armmsi.FederatedIdentityCredential{
		Properties: &armmsi.FederatedIdentityCredentialProperties{Issuer: to.Ptr(m.Issuer), Subject: to.Ptr(subject), Audiences: to.SliceOfPtrs(m.Audience)},
	}, nil)
	return err
}

// Revoke makes sure that the access has no role and no identity. The grants are those that it may have had, to find
// roles of an identity that somebody deleted; their buckets need not exist.
func (m *Manager) Revoke(ctx context.Context, account string, grants []Grant) error {
	found, err := m.Identities.Get(ctx, m.Group, account, nil)
	if gone(err) {
		var left []assigned
		for _, g := range grants {
			left = append(left, assigned{g.Scope, m.assignment(account, g)})
		}
		return m.unassign(ctx, left)
	}
	if err != nil || !m.ours(found.Identity) {
		return err
	}
	principal, err := principalOf(found.Identity)
	if err != nil {
		return err
	}
	present, err := m.assignments(ctx, principal)
	if err != nil {
		return err
	}
	if err := m.unassign(ctx, present); err != nil {
		return err
	}
	// The federated credential goes with it.
	_, err = m.Identities.Delete(ctx, m.Group, account, nil)
	if gone(err) {
		return nil
	}
	return err
}

// Check makes a call that shows whether Azure Resource Manager answers and accepts the driver's credentials.
func (m *Manager) Check(ctx context.Context) error {
	_, err := m.Identities.NewListByResourceGroupPager(m.Group, nil).NextPage(ctx)
	if err != nil {
		return fmt.Errorf("list identities: %w", err)
	}
	return nil
}

func gone(err error) bool {
	return apierror.Is(err, "ResourceNotFound", "RoleAssignmentNotFound", "ParentResourceNotFound", "NotFound")
}

func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

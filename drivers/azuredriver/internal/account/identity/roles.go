// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// The built-in Azure roles that match access modes, by ID. There is none for write-only access.
const (
	RoleReader      = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1" // Storage Blob Data Reader
	RoleContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe" // Storage Blob Data Contributor
	roleOwner       = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b" // Storage Blob Data Owner
)

// containerRights returns the access to the container's own properties and metadata that a role includes. Custom
// roles are assumed to include none, because that is the usual reason for creating one.
func containerRights(role string) driverkit.Mode {
	return map[string]driverkit.Mode{
		RoleReader: driverkit.ReadOnly, RoleContributor: driverkit.ReadWrite, roleOwner: driverkit.ReadWrite,
	}[strings.ToLower(role)]
}

// at returns the grant of a role on a bucket's container. An access keeps the role that it was granted with, even if
// another role has been configured for its mode since.
func (m *Manager) at(bucket account.Bucket, role string) grant {
	return grant{
		scope: bucket.ResourceID + "/blobServices/default/containers/" + bucket.Name,
		role:  "/subscriptions/" + m.Subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + role,
	}
}

// assigned is a role assignment.
type assigned struct{ scope, name string }

// assignments returns the role assignments of a principal on the storage accounts and their containers.
func (m *Manager) assignments(ctx context.Context, principal string) ([]assigned, error) {
	var found []assigned
	// The SDK does not escape the filter.
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

// under reports whether a resource is the scope or is below it.
func under(resource, scope string) bool {
	return strings.HasPrefix(strings.ToLower(resource)+"/", strings.ToLower(scope)+"/")
}

// unassign removes role assignments. The condition of the driver's own role denies requests for missing assignments,
// because they have no role that the condition could check. A denial is therefore an error only if the assignment
// exists.
func (m *Manager) unassign(ctx context.Context, all []assigned) error {
	var refused []assigned
	var refusal error
	for _, one := range all {
		_, err := m.Assignments.Delete(ctx, one.scope, one.name, nil)
		switch {
		case err == nil || gone(err):
		case apierror.Is(err, "AuthorizationFailed"):
			refused, refusal = append(refused, one), err
		default:
			return err
		}
	}
	if refusal == nil {
		return nil
	}
	_, exists, err := driverkit.Find(ctx, m.ReadLag, func(ctx context.Context) (assigned, bool, error) {
		for _, one := range refused {
			if _, err := m.Assignments.Get(ctx, one.scope, one.name, nil); !gone(err) {
				return one, err == nil, err
			}
		}
		return assigned{}, false, nil
	})
	if exists {
		return refusal
	}
	return err
}

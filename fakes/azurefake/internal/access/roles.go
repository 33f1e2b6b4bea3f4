// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"
)

// Role is a role definition.
type Role struct {
	// Name is the name of the role. ID is the name of the role definition, a UUID.
	Name string `json:"name"`
	ID   string `json:"id"`
	// Actions (for the control plane) and DataActions (for data) are patterns of the permissions in the role, with *
	// as a wildcard. NotActions and NotDataActions are excluded from them.
	Actions        []string `json:"actions,omitempty"`
	NotActions     []string `json:"notActions,omitempty"`
	DataActions    []string `json:"dataActions,omitempty"`
	NotDataActions []string `json:"notDataActions,omitempty"`
	// Scopes are the resource IDs where a custom role can be assigned. A built-in role has none and can be assigned
	// anywhere.
	Scopes []string `json:"scopes,omitempty"`
}

// Custom reports whether the role is a custom role, created by a call.
func (r Role) Custom() bool { return len(r.Scopes) > 0 }

// allows reports whether the role allows an action, which is written as Azure writes it.
func (r Role) allows(action string) bool {
	yes, no := r.Actions, r.NotActions
	if isData(action) {
		yes, no = r.DataActions, r.NotDataActions
	}
	matching := func(pattern string) bool { return matches(pattern, action) }
	return slices.ContainsFunc(yes, matching) && !slices.ContainsFunc(no, matching)
}

// matches compares an action with a pattern as Azure does: any case, * for anything.
func matches(pattern, action string) bool {
	parts := strings.Split(strings.ToLower(pattern), "*")
	rest, found := strings.CutPrefix(strings.ToLower(action), parts[0])
	if !found || len(parts) == 1 {
		return found && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// builtIn returns Azure's built-in roles for blobs and for managing identities. It omits actions of services that the
// fake does not implement.
func builtIn() []Role {
	const identities, federated = "Microsoft.ManagedIdentity/userAssignedIdentities/", "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/"
	return []Role{
		{Name: "Owner", ID: "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", Actions: []string{"*"}},
		{
			Name: "Contributor", ID: "b24988ac-6180-42a0-ab88-20f7382dd24c", Actions: []string{"*"},
			NotActions: []string{"Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"},
		},
		{Name: "Reader", ID: "acdd72a7-3385-48ef-bd42-f606fba81ae7", Actions: []string{"*/read"}},
		{Name: "User Access Administrator", ID: "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", Actions: []string{"*/read", "Microsoft.Authorization/*"}},
		{
			Name: "Role Based Access Control Administrator", ID: "f58310d9-a9f6-439a-9e8d-f62e7b41a168",
			Actions: []string{"Microsoft.Authorization/roleAssignments/write", "Microsoft.Authorization/roleAssignments/delete", "*/read"},
		},
		{
			Name: "Managed Identity Contributor", ID: "e40ec5ca-96e0-45a2-b4ff-59039f2c2b59", Actions: []string{
				identities + "read", identities + "write", identities + "delete",
				federated + "read", federated + "write", federated + "delete", "Microsoft.Authorization/*/read",
			},
		},
		{
			Name: "Storage Account Key Operator Service Role", ID: "81a9662b-bebf-436f-a333-f67b29880f12",
			Actions: []string{"Microsoft.Storage/storageAccounts/listkeys/action", "Microsoft.Storage/storageAccounts/regeneratekey/action"},
		},
		{
			Name: "Storage Blob Data Owner", ID: "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
			Actions: []string{actionContainers + "*", actionDelegation}, DataActions: []string{actionBlobs + "*"},
		},
		{
			Name: "Storage Blob Data Contributor", ID: "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
			Actions:     []string{actionContainers + "delete", actionContainers + "read", actionContainers + "write", actionDelegation},
			DataActions: []string{actionBlobs + "delete", actionBlobs + "read", actionBlobs + "write", actionBlobs + "move/action", actionBlobs + "add/action"},
		},
		{
			Name: "Storage Blob Data Reader", ID: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
			Actions: []string{actionContainers + "read", actionDelegation}, DataActions: []string{actionBlobs + "read"},
		},
		{Name: "Storage Blob Delegator", ID: "db58b8e5-c6ad-4a2d-8342-4190687cbf4a", Actions: []string{actionDelegation}},
	}
}

// Roles returns all role definitions: the built-in ones, then the custom ones ordered by ID.
func (d *Directory) Roles() []Role {
	return append(builtIn(), d.roles.sorted(func(r Role) string { return r.ID })...)
}

// Role returns a role definition by its ID, which is not case-sensitive.
func (d *Directory) Role(id string) (Role, bool) {
	id = strings.ToLower(id)
	if r, custom := d.roles.get(id); custom {
		return r, true
	}
	roles := builtIn()
	at := slices.IndexFunc(roles, func(r Role) bool { return r.ID == id })
	if at < 0 {
		return Role{}, false
	}
	return roles[at], true
}

// PutRole adds or replaces a custom role.
func (d *Directory) PutRole(r Role) error { return d.roles.put(r.ID, r) }

// RemoveRole deletes a custom role.
func (d *Directory) RemoveRole(id string) error { return d.roles.remove(id) }

// Allowed reports whether a role assignment gives the principal permission for the action. The assignment must be for
// the resource or a resource above it. If the assignment has a condition, it must hold for the attributes.
func (d *Directory) Allowed(objectID, action, resource string, about Attributes) bool {
	_, allowed := d.assignments.find(func(a Assignment) bool {
		if a.PrincipalID != objectID || !Under(resource, a.Scope) {
			return false
		}
		if role, known := d.Role(a.Role); !known || !role.allows(action) {
			return false
		}
		holds, err := Holds(a.Condition, action, about)
		return a.Condition == "" || err == nil && holds // one that cannot be evaluated allows nothing
	})
	return allowed
}

// Under reports whether a resource is the scope itself or below it. Both are resource IDs.
func Under(resource, scope string) bool {
	resource, scope = strings.ToLower(strings.TrimSuffix(resource, "/"))+"/", strings.ToLower(strings.TrimSuffix(scope, "/"))+"/"
	return strings.HasPrefix(resource, scope)
}

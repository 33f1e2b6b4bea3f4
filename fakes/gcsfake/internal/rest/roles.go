// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// listPredefinedRoles lists Google's predefined roles with the permissions that implemented operations require. The
// caller needs no permission.
func (c *Call) listPredefinedRoles() (any, error) {
	roles := []identity.Role{}
	for _, name := range policy.PredefinedRoles() {
		roles = append(roles, identity.Role{Name: name, Title: name, Stage: "GA", Permissions: policy.PermissionsOf(name)})
	}
	return c.page(roles)
}

// page lists roles, with their permissions in the FULL view.
func (c *Call) page(all []identity.Role) (any, error) {
	limit, err := c.cloudLimit(300, 1000)
	if err != nil {
		return nil, err
	}
	page, next, err := pageOf(c, all, func(r identity.Role) string { return r.Name }, limit)
	if err != nil {
		return nil, err
	}
	switch view := c.query.Get("view"); view {
	case "FULL":
	case "", "BASIC":
		page = append([]identity.Role{}, page...) // the permissions are shared
		for i := range page {
			page[i].Permissions = nil
		}
	default:
		return nil, gcserr.Invalid.Say("Invalid value at 'view' (type.googleapis.com/google.iam.admin.v1.RoleView), %q", view)
	}
	return listing("roles", page, next), nil
}

func (c *Call) getPredefinedRole() (any, error) {
	name := "roles/" + c.vars["role"]
	permissions := policy.PermissionsOf(name)
	if permissions == nil {
		return nil, gcserr.NotFound.Say("The role named %s was not found.", name)
	}
	return identity.Role{Name: name, Title: name, Stage: "GA", Permissions: permissions}, nil
}

func (c *Call) createRole(p identity.Project) (any, error) {
	var req struct {
		RoleID string        `json:"roleId"`
		Role   identity.Role `json:"role"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	return c.api.dir.PutRole(p.ID, req.RoleID, req.Role, true)
}

func (c *Call) listRoles(p identity.Project) (any, error) { return c.page(c.api.dir.Roles(p.ID)) }

// roleName returns the name of the call's role.
func (c *Call) roleName(p identity.Project) string {
	return "projects/" + p.ID + "/roles/" + c.vars["role"]
}

func (c *Call) getRole(p identity.Project) (any, error) { return c.api.dir.Role(c.roleName(p)) }

func (c *Call) patchRole(p identity.Project) (any, error) {
	r, err := c.api.dir.Role(c.roleName(p))
	if err != nil {
		return nil, err
	}
	changed := r
	if err := c.readJSON(&changed); err != nil {
		return nil, err
	}
	if err := masked(&r, changed, c.query.Get("updateMask")); err != nil {
		return nil, err
	}
	return c.api.dir.PutRole(p.ID, c.vars["role"], r, false)
}

// masked changes the fields of a role that are in the update mask, or all fields if the mask is empty.
func masked(r *identity.Role, changed identity.Role, mask string) error {
	if mask == "" {
		*r = changed
		return nil
	}
	for field := range strings.SplitSeq(mask, ",") {
		switch strings.TrimSpace(field) {
		case "title":
			r.Title = changed.Title
		case "description":
			r.Description = changed.Description
		case "stage":
			r.Stage = changed.Stage
		case "includedPermissions", "included_permissions":
			r.Permissions = changed.Permissions
		default:
			return gcserr.Invalid.Say("The field %q cannot be changed.", field)
		}
	}
	return nil
}

func (c *Call) deleteRole(p identity.Project) (any, error) {
	r, err := c.api.dir.Role(c.roleName(p))
	if err != nil {
		return nil, err
	}
	return r, c.api.dir.DeleteRole(r.Name)
}

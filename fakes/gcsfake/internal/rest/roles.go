// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// listPredefinedRoles lists Google's roles, as far as there are operations here that ask for their permissions. It
// needs no permission.
func (c *Call) listPredefinedRoles(w http.ResponseWriter) error {
	roles := []identity.Role{}
	for _, name := range policy.PredefinedRoles() {
		roles = append(roles, identity.Role{Name: name, Title: name, Stage: "GA", Permissions: policy.PermissionsOf(name)})
	}
	return c.respondRoles(w, roles)
}

// respondRoles lists roles, with their permissions in the FULL view.
func (c *Call) respondRoles(w http.ResponseWriter, all []identity.Role) error {
	const most, usual = 1000, 300
	page, next, err := pageOf(c, all, func(r identity.Role) string { return r.Name }, usual, most)
	if err != nil {
		return err
	}
	switch view := c.query.Get("view"); view {
	case "FULL":
	case "", "BASIC":
		page = append([]identity.Role{}, page...) // the permissions are shared
		for i := range page {
			page[i].Permissions = nil
		}
	default:
		return gcserr.Invalid.Say("Invalid value at 'view' (type.googleapis.com/google.iam.admin.v1.RoleView), %q", view)
	}
	return respond(w, listing("roles", page, next))
}

func (c *Call) getPredefinedRole(w http.ResponseWriter) error {
	name := "roles/" + c.vars["role"]
	permissions := policy.PermissionsOf(name)
	if permissions == nil {
		return gcserr.NotFound.Say("The role named %s was not found.", name)
	}
	return respond(w, identity.Role{Name: name, Title: name, Stage: "GA", Permissions: permissions})
}

func (c *Call) createRole(w http.ResponseWriter) error {
	p, err := c.needProject("iam.roles.create", c.vars["project"])
	if err != nil {
		return err
	}
	var req struct {
		RoleID string        `json:"roleId"`
		Role   identity.Role `json:"role"`
	}
	if err := c.readJSON(&req); err != nil {
		return err
	}
	r, err := c.api.dir.PutRole(p.ID, req.RoleID, req.Role, true)
	if err != nil {
		return err
	}
	return respond(w, r)
}

func (c *Call) listRoles(w http.ResponseWriter) error {
	p, err := c.needProject("iam.roles.list", c.vars["project"])
	if err != nil {
		return err
	}
	return c.respondRoles(w, c.api.dir.Roles(p.ID))
}

// role returns the name of the call's role after asking for a permission.
func (c *Call) role(permission string) (project, name string, err error) {
	p, err := c.needProject(permission, c.vars["project"])
	return p.ID, "projects/" + p.ID + "/roles/" + c.vars["role"], err
}

func (c *Call) getRole(w http.ResponseWriter) error {
	_, name, err := c.role("iam.roles.get")
	if err != nil {
		return err
	}
	r, err := c.api.dir.Role(name)
	if err != nil {
		return err
	}
	return respond(w, r)
}

func (c *Call) patchRole(w http.ResponseWriter) error {
	project, name, err := c.role("iam.roles.update")
	if err != nil {
		return err
	}
	r, err := c.api.dir.Role(name)
	if err != nil {
		return err
	}
	changed := r
	if err := c.readJSON(&changed); err != nil {
		return err
	}
	if err := masked(&r, changed, c.query.Get("updateMask")); err != nil {
		return err
	}
	if r, err = c.api.dir.PutRole(project, c.vars["role"], r, false); err != nil {
		return err
	}
	return respond(w, r)
}

// masked makes the changes of a role that an update mask has, all without one.
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

func (c *Call) deleteRole(w http.ResponseWriter) error {
	_, name, err := c.role("iam.roles.delete")
	if err != nil {
		return err
	}
	r, err := c.api.dir.Role(name)
	if err != nil {
		return err
	}
	if err := c.api.dir.DeleteRole(name); err != nil {
		return err
	}
	return respond(w, r)
}

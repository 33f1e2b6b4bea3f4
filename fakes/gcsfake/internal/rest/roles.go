// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// listPredefinedRoles lists Google's roles, as far as there are operations here that ask for their permissions. It
// needs no permission.
func (c *Call) listPredefinedRoles(w http.ResponseWriter) error {
	roles := []identity.Role{}
	for _, name := range policy.PredefinedRoles() {
		r := identity.Role{Name: name, Title: name, Stage: "GA"}
		if c.query.Get("view") == "FULL" {
			r.Permissions = policy.PermissionsOf(name)
		}
		roles = append(roles, r)
	}
	return respond(w, map[string]any{"roles": roles})
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
	return respond(w, map[string]any{"roles": c.api.dir.Roles(p.ID)})
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
	if err := c.readJSON(&r); err != nil {
		return err
	}
	if r, err = c.api.dir.PutRole(project, c.vars["role"], r, false); err != nil {
		return err
	}
	return respond(w, r)
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

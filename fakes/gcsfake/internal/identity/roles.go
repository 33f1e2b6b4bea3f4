// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Role is a custom role of a project.
type Role struct {
	// Name is projects/PROJECT/roles/ID.
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Permissions []string `json:"includedPermissions,omitempty"`
	Stage       string   `json:"stage,omitempty"`
}

var roleID = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)

// grants reports whether a role includes a permission. d.mu is locked.
func (d *Directory) grants(role, permission string) bool {
	granted, known := policy.Predefined(role, permission)
	if known {
		return granted
	}
	r := d.roles[role]
	return r != nil && slices.Contains(r.Permissions, permission)
}

// RoleExists reports whether a role with this name exists.
func (d *Directory) RoleExists(role string) bool {
	if _, known := policy.Predefined(role, ""); known {
		return true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.roles[role] != nil
}

// PutRole creates or changes a custom role of a project.
func (d *Directory) PutRole(project, id string, r Role, create bool) (Role, error) {
	if !roleID.MatchString(id) {
		return Role{}, gcserr.Invalid.Say("The role ID %q must have 3 to 64 characters of a-z, A-Z, 0-9, _ and dots.", id)
	}
	for _, p := range r.Permissions {
		if !slices.Contains(policy.Permissions(), p) {
			return Role{}, gcserr.Invalid.Say("Permission %s is not valid.", p)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.project(project)
	if p == nil {
		return Role{}, noProject(project)
	}
	r.Name = "projects/" + p.ID + "/roles/" + id
	old := d.roles[r.Name]
	switch {
	case create && old != nil:
		return Role{}, gcserr.New(http.StatusConflict, "alreadyExists", "Conflict", "A role named "+id+" in projects/"+p.ID+" already exists.")
	case !create && old == nil:
		return Role{}, noRole(r.Name)
	}
	if err := d.keep(tableRoles, r.Name, &r); err != nil {
		return Role{}, err
	}
	d.roles[r.Name] = &r
	return r, nil
}

func noRole(name string) error {
	return gcserr.New(http.StatusNotFound, "notFound", "NotFound", "The role named "+name+" was not found.")
}

// Role returns a custom role by name.
func (d *Directory) Role(name string) (Role, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if r := d.roles[name]; r != nil {
		return *r, nil
	}
	return Role{}, noRole(name)
}

// Roles returns the custom roles of a project, ordered by name. If project is "", it returns those of all projects.
func (d *Directory) Roles(project string) []Role {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []Role
	for _, r := range d.roles {
		if project == "" || strings.HasPrefix(r.Name, "projects/"+project+"/") {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b Role) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// DeleteRole deletes a custom role. Bindings with this role no longer grant any permissions.
func (d *Directory) DeleteRole(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.roles[name] == nil {
		return noRole(name)
	}
	if err := d.journal.Append(journal.Delete(tableRoles, name)); err != nil {
		return err
	}
	delete(d.roles, name)
	return nil
}

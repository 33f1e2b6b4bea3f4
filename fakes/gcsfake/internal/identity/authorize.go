// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// Target is the resource for which a permission is checked.
type Target struct {
	// Project is the ID of the project.
	Project string
	// Policy is the policy of the resource, or nil if the resource has none.
	Policy *policy.Policy
	// Resource contains the attributes for conditions.
	Resource policy.Resource
}

// Allowed reports whether the policy of the project or the policy of the resource gives the caller the permission.
func (d *Directory) Allowed(c Caller, permission string, on Target) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	now := d.now()
	p := d.projects[on.Project]
	if p != nil && p.Policy.Allows(c.Caller, permission, on.Resource, unlocked{d}, nil, now) {
		return true
	}
	if on.Policy == nil {
		return false
	}
	standing := func(kind, project string) bool {
		role := map[string]string{"projectOwner": "roles/owner", "projectEditor": "roles/editor", "projectViewer": "roles/viewer"}[kind]
		of := d.projects[project]
		return of != nil && of.Policy.Binds(c.Caller, role)
	}
	return on.Policy.Allows(c.Caller, permission, on.Resource, unlocked{d}, standing, now)
}

// unlocked is the directory's roles for a caller that holds the lock.
type unlocked struct{ d *Directory }

// Grants implements policy.Roles.
func (u unlocked) Grants(role, permission string) bool { return u.d.grants(role, permission) }

// Level is the access level that an operation requires of an OAuth scope.
type Level int

// The levels of Cloud Storage's scopes ("Cloud Storage OAuth 2.0 scopes"), and the level Cloud for all other
// services.
const (
	Read Level = iota + 1
	Write
	Control
	Cloud
)

const scopePrefix = "https://www.googleapis.com/auth/"

// InScope reports whether the scopes of the caller's token include a level. It does not check the caller's
// permissions.
func (c Caller) InScope(l Level) bool {
	if c.Scopes == nil {
		return true
	}
	return slices.ContainsFunc(c.Scopes, func(scope string) bool {
		name, _ := strings.CutPrefix(scope, scopePrefix)
		switch name {
		case "cloud-platform":
			return true
		case "devstorage.full_control":
			return l <= Control
		case "devstorage.read_write":
			return l <= Write
		case "devstorage.read_only", "cloud-platform.read-only":
			return l == Read
		case "iam":
			return l == Cloud
		}
		return false
	})
}

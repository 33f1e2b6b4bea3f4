// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// NewRole describes a role to create.
type NewRole struct {
	Name, Path, Boundary, Trust, Description string
	// MaxSession is the maximum session duration in seconds.
	MaxSession int
	Tags       []Tag
}

// CreateRole adds a role.
func (a *Account) CreateRole(in NewRole) (Role, error) {
	pins, err := a.checkTrust(in.Trust)
	if err != nil {
		return Role{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.roles[fold(in.Name)] != nil {
		return Role{}, exists("Role with name %s already exists.", in.Name)
	}
	if len(a.roles) >= MaxRoles {
		return Role{}, limitExceeded("Cannot exceed quota for RolesPerAccount: %d", MaxRoles)
	}
	if err := a.boundaryExists(in.Boundary); err != nil {
		return Role{}, err
	}
	in.MaxSession = cmp.Or(in.MaxSession, defaultSessionLimit)
	if a.ForgetsTags {
		in.Tags = nil
	}
	r := &Role{Identity: Identity{
		Name: in.Name, Path: in.Path, ID: newID("AROA", 17), Created: a.Now().UTC(), Tags: slices.Clone(in.Tags),
		Boundary: in.Boundary, Inline: map[string]string{},
	}, Trust: in.Trust, Principals: pins, Description: in.Description, MaxSession: in.MaxSession}
	if err := a.save(tableRoles, fold(r.Name), r); err != nil {
		return Role{}, err
	}
	a.roles[fold(r.Name)] = r
	return r.clone(), nil
}

// checkTrust judges a trust policy and returns the users and roles that it names, all of which exist.
func (a *Account) checkTrust(document string) (iampolicy.Pins, error) {
	d, err := iampolicy.ParseTrust(document)
	if err != nil {
		return nil, err
	}
	if iampolicy.CompactLength(document) > iampolicy.MaxTrust {
		return nil, limitExceeded("Cannot exceed quota for ACLSizePerRole: %d", iampolicy.MaxTrust)
	}
	for _, name := range d.Named() {
		if name != "*" && !a.PrincipalExists(name) {
			return nil, awserr.Newf(http.StatusBadRequest, "MalformedPolicyDocument", "Invalid principal in policy: \"AWS\":%q", name)
		}
	}
	return a.Pins(d), nil
}

// TrustOf parses a role's trust policy for evaluation.
func (a *Account) TrustOf(r *Role) (*iampolicy.Document, error) {
	d, err := iampolicy.ParseTrust(r.Trust)
	if err == nil {
		d.Pin(r.Principals)
	}
	return d, err
}

func (r *Role) clone() Role {
	c := *r
	c.Identity = r.Identity.clone()
	return c
}

// Role returns a role by name.
func (a *Account) Role(name string) (Role, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	r, err := a.role(name)
	if err != nil {
		return Role{}, err
	}
	return r.clone(), nil
}

func (a *Account) role(name string) (*Role, error) { return named(a.roles, KindRole, name) }

// RoleByARN returns a role by ARN; ok is false if there is none.
func (a *Account) RoleByARN(arn string) (r Role, ok bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.roles {
		if a.RoleARN(r) == arn {
			return r.clone(), true
		}
	}
	return Role{}, false
}

// Roles returns the roles below a path prefix, ordered by name.
func (a *Account) Roles(prefix string) []Role {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return selected(a.roles, func(r *Role) bool { return strings.HasPrefix(r.Path, prefix) })
}

func (a *Account) changeRole(name string, do func(*Role) error) error {
	return change(a, tableRoles, a.roles, fold(name), noSuch(KindRole, name), do)
}

// SetTrust replaces a role's trust policy.
func (a *Account) SetTrust(name, document string) error {
	pins, err := a.checkTrust(document)
	if err != nil {
		return err
	}
	return a.changeRole(name, func(r *Role) error {
		r.Trust, r.Principals = document, pins
		return nil
	})
}

// UpdateRole changes the description and the session limit. A nil description and a limit of 0 leave the field unchanged.
func (a *Account) UpdateRole(name string, description *string, maxSession int) error {
	return a.changeRole(name, func(r *Role) error {
		if description != nil {
			r.Description = *description
		}
		r.MaxSession = cmp.Or(maxSession, r.MaxSession)
		return nil
	})
}

// DeleteRole deletes a role. The role must not have any policies.
func (a *Account) DeleteRole(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, err := a.role(name)
	if err != nil {
		return err
	}
	if err := r.withoutPolicies(); err != nil {
		return err
	}
	return remove(a, tableRoles, a.roles, fold(name))
}

// NewSession describes temporary credentials to issue.
type NewSession struct {
	Role     Role
	Name     string
	Duration time.Duration
	Policies []string
	Tags     []Tag
	// Transitive are the keys of transitive tags.
	Transitive []string
	Provider   string
	Subject    string
	// UserID is set for a session of a user instead of a role.
	UserID string
	// TokenSize is the minimum size of the session token in bytes.
	TokenSize int
}

// CreateSession issues temporary credentials for a role or a user.
func (a *Account) CreateSession(in NewSession) (Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.Now().UTC().Truncate(time.Second)
	token := "FwoGZXIvYXdzE" + newSecret() + newSecret()
	for len(token) < in.TokenSize {
		token += newSecret()
	}
	s := &Session{
		KeyID: newID("ASIA", 16), Secret: newSecret(), Token: token, Role: in.Role.Name, RoleID: in.Role.ID, UserID: in.UserID,
		Name: in.Name, Issued: now, Expires: now.Add(in.Duration), Policies: in.Policies, Tags: in.Tags, Transitive: in.Transitive, Provider: in.Provider, Subject: in.Subject,
	}
	if err := a.save(tableSessions, s.KeyID, s); err != nil {
		return Session{}, err
	}
	for id, old := range a.sessions {
		if a.Now().After(old.Expires.Add(time.Hour)) {
			if err := a.forget(tableSessions, id); err != nil {
				return Session{}, err
			}
			delete(a.sessions, id)
		}
	}
	a.sessions[s.KeyID] = s
	return *s, nil
}

// SPDX-License-Identifier: Apache-2.0

// Package policy defines and evaluates IAM allow policies: roles, members and conditions. It does not check whether
// the members and resources exist.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Condition limits a binding with a CEL expression.
type Condition struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Expression  string `json:"expression"`
}

// Binding gives a role to members.
type Binding struct {
	Role      string     `json:"role"`
	Members   []string   `json:"members,omitempty"`
	Condition *Condition `json:"condition,omitempty"`
}

// Policy is an allow policy.
type Policy struct {
	Bindings []Binding `json:"bindings,omitempty"`
	// Sequence changes with every change of the policy. The etag is derived from it.
	Sequence uint64 `json:"sequence"`
	// UIDs maps the service accounts among the members to the unique IDs that they had when the policy was set. The
	// policy does not apply to an account that was deleted and recreated with the same name.
	UIDs map[string]string `json:"uids,omitempty"`
}

// Conditional reports whether any binding has a condition.
func (p *Policy) Conditional() bool {
	return slices.ContainsFunc(p.Bindings, func(b Binding) bool { return b.Condition != nil })
}

// Caller contains the identities of a caller to which policies can refer.
type Caller struct {
	// Members are all names by which bindings can refer to the caller, for example
	// serviceAccount:a@p.iam.gserviceaccount.com and allAuthenticatedUsers.
	Members []string
	// UID is the unique ID of a service account.
	UID string
}

// Resource is the requested resource.
type Resource struct {
	// Name is the value of resource.name in conditions, for example projects/_/buckets/b/objects/o.
	Name string
	// Type is the value of resource.type in conditions, for example storage.googleapis.com/Object.
	Type string
	// Service is the value of resource.service in conditions.
	Service string
	// ListPrefix is the prefix of a listing. Conditions can refer to it as storage.googleapis.com/objectListPrefix.
	ListPrefix string
}

// Roles resolves roles to permissions.
type Roles interface {
	// Grants reports whether a role includes a permission.
	Grants(role, permission string) bool
}

// Allows reports whether p gives the caller the permission on the resource. standing reports whether the caller is a
// projectOwner, projectEditor or projectViewer (kind) of a project; it resolves these convenience members.
func (p *Policy) Allows(c Caller, permission string, on Resource, roles Roles, standing func(kind, project string) bool, now time.Time) bool {
	for i := range p.Bindings {
		b := &p.Bindings[i]
		if !roles.Grants(b.Role, permission) || !p.binds(b, c, standing) {
			continue
		}
		if b.Condition == nil || holds(b.Condition.Expression, on, now) {
			return true
		}
	}
	return false
}

// Binds reports whether a binding of p without a condition gives the caller the role.
func (p *Policy) Binds(c Caller, role string) bool {
	for i := range p.Bindings {
		if p.Bindings[i].Role == role && p.Bindings[i].Condition == nil && p.binds(&p.Bindings[i], c, nil) {
			return true
		}
	}
	return false
}

func (p *Policy) binds(b *Binding, c Caller, standing func(kind, project string) bool) bool {
	for _, m := range b.Members {
		if kind, project, ok := strings.Cut(m, ":"); ok && standing != nil && strings.HasPrefix(kind, "project") {
			if standing(kind, project) {
				return true
			}
			continue
		}
		if !slices.Contains(c.Members, m) {
			continue
		}
		if uid := p.UIDs[m]; strings.HasPrefix(m, "serviceAccount:") && uid != "" && uid != c.UID {
			continue
		}
		return true
	}
	return false
}

// WithoutConditions returns the bindings as policy version 1 shows them. Conditional bindings have a special role and
// no condition ("Policies with conditional role bindings" in the IAM documentation).
func (p *Policy) WithoutConditions() []Binding {
	out := make([]Binding, len(p.Bindings))
	for i, b := range p.Bindings {
		out[i] = b
		if b.Condition != nil {
			sum := sha256.Sum256([]byte(b.Condition.Expression))
			out[i].Role += "_withcond_" + hex.EncodeToString(sum[:])[:20]
			out[i].Condition = nil
		}
	}
	return out
}

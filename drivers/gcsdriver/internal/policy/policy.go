// SPDX-License-Identifier: Apache-2.0

// Package policy translates the access modes of COSI into IAM roles, and edits IAM policies of buckets. An edit
// changes only the bindings of one account and preserves everything else, including conditions and unknown members.
// The package makes no calls.
package policy

import (
	"slices"
	"strings"

	storage "google.golang.org/api/storage/v1"
)

// Version is the version of policies with conditions. Reading or writing a policy with another version loses its
// conditions ("Policy versions").
const Version = 3

// SetRoles gives the member exactly these roles, without a condition, and reports whether it changed the policy. It
// ignores conditional bindings of the member, which belong to an administrator.
func SetRoles(p *storage.Policy, member string, roles []string) bool {
	changed := removeDeleted(p, member)
	for _, binding := range p.Bindings {
		has := slices.Contains(binding.Members, member)
		if binding.Condition == nil && has && !slices.Contains(roles, binding.Role) {
			binding.Members = without(binding.Members, member)
			changed = true
		}
	}
	for _, role := range roles {
		changed = addMember(p, role, member) || changed
	}
	return dropEmpty(p) || changed
}

// Remove removes the member from every binding, including conditional ones. It also removes the entries that remain
// after the member's service account was deleted.
func Remove(p *storage.Policy, member string) bool {
	changed := removeDeleted(p, member)
	for _, binding := range p.Bindings {
		if slices.Contains(binding.Members, member) {
			binding.Members = without(binding.Members, member)
			changed = true
		}
	}
	return dropEmpty(p) || changed
}

// Claim identifies one of several accesses that share a member. The bindings of a claim have a condition that is
// always true. The title of the condition distinguishes them from the bindings of other accesses.
type Claim struct {
	// Title is unique to this access.
	Title string
	// Description is the description of all bindings of this access, and begins with Owner.
	Description string
	// Owner is the prefix of the descriptions of all bindings of this driver.
	Owner string
	// Expression is always true on the bucket.
	Expression string
}

func (c Claim) holds(binding *storage.PolicyBindings) bool {
	return binding.Condition != nil && binding.Condition.Title == c.Title && strings.HasPrefix(binding.Condition.Description, c.Owner)
}

// Described returns the description of the claim's bindings, or "" if there is none.
func (c Claim) Described(p *storage.Policy) string {
	for _, binding := range p.Bindings {
		if c.holds(binding) {
			return binding.Condition.Description
		}
	}
	return ""
}

// Bind gives the member exactly these roles under the claim.
func (c Claim) Bind(p *storage.Policy, member string, roles []string) bool {
	changed, missing := false, slices.Clone(roles)
	for _, binding := range p.Bindings {
		if !c.holds(binding) {
			continue
		}
		at := slices.Index(missing, binding.Role)
		if at >= 0 && slices.Equal(binding.Members, []string{member}) && binding.Condition.Expression == c.Expression {
			missing = slices.Delete(missing, at, at+1)
			continue
		}
		binding.Members, changed = nil, true
	}
	for _, role := range missing {
		p.Bindings = append(p.Bindings, &storage.PolicyBindings{
			Role: role, Members: []string{member},
			Condition: &storage.Expr{Title: c.Title, Description: c.Description, Expression: c.Expression},
		})
		changed = true
	}
	return dropEmpty(p) || changed
}

// Release removes the claim's bindings.
func (c Claim) Release(p *storage.Policy) bool {
	before := len(p.Bindings)
	p.Bindings = slices.DeleteFunc(p.Bindings, c.holds)
	return len(p.Bindings) != before
}

func addMember(p *storage.Policy, role, member string) bool {
	for _, binding := range p.Bindings {
		if binding.Role == role && binding.Condition == nil {
			if slices.Contains(binding.Members, member) {
				return false
			}
			binding.Members = append(binding.Members, member)
			return true
		}
	}
	p.Bindings = append(p.Bindings, &storage.PolicyBindings{Role: role, Members: []string{member}})
	return true
}

// removeDeleted removes the form that Google gives to a member whose service account was deleted,
// "deleted:serviceAccount:NAME?uid=NUMBER". It never becomes valid again, but it counts against limits.
func removeDeleted(p *storage.Policy, member string) bool {
	changed := false
	for _, binding := range p.Bindings {
		left := slices.DeleteFunc(slices.Clone(binding.Members), func(other string) bool {
			return strings.HasPrefix(other, "deleted:"+member+"?uid=")
		})
		if len(left) != len(binding.Members) {
			binding.Members, changed = left, true
		}
	}
	return changed
}

func without(members []string, member string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(other string) bool { return other == member })
}

func dropEmpty(p *storage.Policy) bool {
	before := len(p.Bindings)
	p.Bindings = slices.DeleteFunc(p.Bindings, func(binding *storage.PolicyBindings) bool { return len(binding.Members) == 0 })
	return len(p.Bindings) != before
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Entry is an entry of an access control list.
type Entry struct {
	// Entity is allUsers, allAuthenticatedUsers, or TYPE-NAME with the type user, group, domain or project. The name of
	// a project's team is owners-NUMBER, editors-NUMBER or viewers-NUMBER.
	Entity string `json:"entity"`
	// Role is READER, WRITER (of buckets only) or OWNER.
	Role string `json:"role"`
	// UID is the unique ID of a service account when the entry was set. The entry does not apply to another account
	// with the same name.
	UID string `json:"uid,omitempty"`
}

// Public reports whether the entry is for everyone.
func (e Entry) Public() bool { return e.Entity == "allUsers" || e.Entity == "allAuthenticatedUsers" }

// The roles of entries, from the least to the most powerful, and the equivalent roles of policies ("Access control
// lists", "Relation to IAM").
var (
	aclRoles    = []string{"READER", "WRITER", "OWNER"}
	BucketRoles = map[string]string{
		"READER": "roles/storage.legacyBucketReader", "WRITER": "roles/storage.legacyBucketWriter", "OWNER": "roles/storage.legacyBucketOwner",
	}
	ObjectRoles = map[string]string{"READER": "roles/storage.legacyObjectReader", "OWNER": "roles/storage.legacyObjectOwner"}
)

// teams maps the teams of projects in entities to the kinds of members in policies.
var teams = map[string]string{"owners": "projectOwner", "editors": "projectEditor", "viewers": "projectViewer"}

// member returns the member of policies for an entity, or "" if there is none. id returns the ID of a project with
// a number, and "" if there is none.
func member(entity string, id func(number string) string) string {
	kind, name, _ := strings.Cut(entity, "-")
	switch kind {
	case "allUsers", "allAuthenticatedUsers":
		return entity
	case "user":
		if strings.HasSuffix(name, ".gserviceaccount.com") {
			return "serviceAccount:" + name
		}
		return "user:" + name
	case "group", "domain":
		return kind + ":" + name
	case "project":
		team, number, _ := strings.Cut(name, "-")
		if project := id(number); teams[team] != "" && project != "" {
			return teams[team] + ":" + project
		}
	}
	return ""
}

// entity is the reverse of member. number returns the number of a project.
func entity(member string, number func(id string) string) string {
	kind, name, _ := strings.Cut(member, ":")
	switch kind {
	case "allUsers", "allAuthenticatedUsers":
		return member
	case "user", "serviceAccount":
		return "user-" + name
	case "group", "domain":
		return kind + "-" + name
	}
	for team, of := range teams {
		if kind == of {
			return "project-" + team + "-" + number(name)
		}
	}
	return ""
}

// FromEntries returns the policy that is equivalent to an access control list. roles is BucketRoles or ObjectRoles.
func FromEntries(entries []Entry, roles map[string]string, id func(number string) string) Policy {
	p := Policy{UIDs: map[string]string{}}
	for _, e := range entries {
		m := member(e.Entity, id)
		if m == "" {
			continue
		}
		p.Bindings = append(p.Bindings, Binding{Role: roles[e.Role], Members: []string{m}})
		if e.UID != "" {
			p.UIDs[m] = e.UID
		}
	}
	return p
}

// BucketEntries returns the access control list of a bucket, which is the part of its policy with BucketRoles.
func (p *Policy) BucketEntries(number func(id string) string) []Entry {
	out := []Entry{}
	for _, role := range slices.Backward(aclRoles) {
		for _, b := range p.Bindings {
			if b.Role != BucketRoles[role] || b.Condition != nil {
				continue
			}
			for _, m := range b.Members {
				name := entity(m, number)
				if name != "" && !slices.ContainsFunc(out, func(e Entry) bool { return e.Entity == name }) {
					out = append(out, Entry{Entity: name, Role: role, UID: p.UIDs[m]})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(rank(a.Entity), rank(b.Entity)) })
	return out
}

// rank orders the teams of projects before all other entities, as Google does.
func rank(entity string) int {
	for i, team := range []string{"owners", "editors", "viewers"} {
		if strings.HasPrefix(entity, "project-"+team) {
			return i
		}
	}
	return len(teams)
}

// WithBucketEntries returns the policy with another access control list. Other bindings do not change, and neither do
// members that an access control list cannot have. If an entry is for a service account that was recreated with the same
// name, the other bindings remain those of the deleted account.
func (p *Policy) WithBucketEntries(entries []Entry, id func(number string) string) Policy {
	next := FromEntries(entries, BucketRoles, id)
	next.Sequence = p.Sequence + 1
	for m, uid := range p.UIDs {
		if next.UIDs[m] == "" {
			next.UIDs[m] = uid
		}
	}
	legacy := func(role string) bool { return strings.HasPrefix(role, "roles/storage.legacyBucket") }
	bindings := merge(next.Bindings)
	for _, b := range p.Bindings {
		if legacy(b.Role) && b.Condition == nil {
			members := slices.DeleteFunc(slices.Clone(b.Members), func(m string) bool { return entity(m, func(id string) string { return id }) != "" })
			if len(members) == 0 {
				continue
			}
			b.Members = members
		}
		b.Members = slices.Clone(b.Members)
		for i, m := range b.Members {
			if uid := p.UIDs[m]; uid != next.UIDs[m] && uid != "" {
				b.Members[i] = "deleted:" + m + "?uid=" + uid
			}
		}
		bindings = append(bindings, b)
	}
	next.Bindings = merge(bindings)
	return next
}

// merge joins bindings without a condition that have the same role.
func merge(bindings []Binding) []Binding {
	var out []Binding
	for _, b := range bindings {
		i := slices.IndexFunc(out, func(o Binding) bool { return o.Role == b.Role && o.Condition == nil && b.Condition == nil })
		if i < 0 {
			b.Members = slices.Clone(b.Members)
			out = append(out, b)
			continue
		}
		out[i].Members = append(out[i].Members, b.Members...)
		slices.Sort(out[i].Members)
		out[i].Members = slices.Compact(out[i].Members)
	}
	return out
}

// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"slices"
	"strings"
)

const tableGroups = "iam.group"

// Group is an IAM group, whose policies apply to all members. Each user stores the IDs of its groups.
type Group struct {
	Identity
}

// CreateGroup adds a group without members.
func (a *Account) CreateGroup(name, path string) (Group, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.groups[fold(name)] != nil {
		return Group{}, exists("Group with name %s already exists.", name)
	}
	if len(a.groups) >= MaxGroups {
		return Group{}, limitExceeded("Cannot exceed quota for GroupsPerAccount: %d", MaxGroups)
	}
	g := &Group{Identity{Name: name, Path: path, ID: newID("AGPA", 17), Created: a.Now().UTC(), Inline: map[string]string{}}}
	if err := a.save(tableGroups, fold(name), g); err != nil {
		return Group{}, err
	}
	a.groups[fold(name)] = g
	return g.clone(), nil
}

func (g *Group) clone() Group { return Group{g.Identity.clone()} }

func (a *Account) group(name string) (*Group, error) { return named(a.groups, KindGroup, name) }

// Group returns a group and its members, ordered by name.
func (a *Account) Group(name string) (Group, []User, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	g, err := a.group(name)
	if err != nil {
		return Group{}, nil, err
	}
	return g.clone(), a.members(g), nil
}

func (a *Account) members(g *Group) []User {
	return selected(a.users, func(u *User) bool { return slices.Contains(u.Groups, g.ID) })
}

// Groups returns the groups below a path prefix, ordered by name.
func (a *Account) Groups(prefix string) []Group {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return selected(a.groups, func(g *Group) bool { return strings.HasPrefix(g.Path, prefix) })
}

// GroupsOf returns the groups of a user, ordered by name.
func (a *Account) GroupsOf(user string) ([]Group, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	u, err := a.user(user)
	if err != nil {
		return nil, err
	}
	return selected(a.groups, func(g *Group) bool { return slices.Contains(u.Groups, g.ID) }), nil
}

func (a *Account) changeGroup(name string, do func(*Group) error) error {
	return change(a, tableGroups, a.groups, fold(name), noSuch(KindGroup, name), do)
}

// RenameGroup changes the name or path of a group; "" leaves the value unchanged. The members of the group remain.
func (a *Account) RenameGroup(name, newName, newPath string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.group(name)
	if err != nil {
		return err
	}
	next := g.clone()
	next.rename(newName, newPath)
	if other := a.groups[fold(next.Name)]; other != nil && other != g {
		return exists("Group with name %s already exists.", newName)
	}
	return move(a, tableGroups, a.groups, name, next.Name, &next)
}

// DeleteGroup removes a group that has no members and no policies left.
func (a *Account) DeleteGroup(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.group(name)
	switch {
	case err != nil:
		return err
	case len(a.members(g)) > 0:
		return deleteConflict("Cannot delete entity, must remove users from group first.")
	}
	if err := g.withoutPolicies(); err != nil {
		return err
	}
	return remove(a, tableGroups, a.groups, fold(name))
}

// AddToGroup adds a user to a group. It does nothing if the user is already a member.
func (a *Account) AddToGroup(group, user string) error {
	return a.changeMembership(group, user, func(u *User, id string) error {
		if slices.Contains(u.Groups, id) {
			return nil
		}
		if len(u.Groups) >= MaxGroupsPerUser {
			return limitExceeded("Cannot exceed quota for GroupsPerUser: %d", MaxGroupsPerUser)
		}
		u.Groups = append(u.Groups, id)
		return nil
	})
}

// RemoveFromGroup removes a user from a group.
func (a *Account) RemoveFromGroup(group, user string) error {
	return a.changeMembership(group, user, func(u *User, id string) error {
		at := slices.Index(u.Groups, id)
		if at < 0 {
			return noSuchEntity("The user %s is not in the group %s.", u.Name, group)
		}
		u.Groups = slices.Delete(u.Groups, at, at+1)
		return nil
	})
}

// changeMembership changes a user with the ID of a group, which cannot be deleted at the same time.
func (a *Account) changeMembership(group, user string, do func(u *User, groupID string) error) error {
	return a.changeUser(user, func(u *User) error {
		g, err := a.group(group)
		if err != nil {
			return err
		}
		return do(u, g.ID)
	})
}

// attachGroups adds the policies of a user's groups to the user's own.
func (a *Account) attachGroups(p *Principal, u *User) error {
	if len(u.Groups) == 0 {
		return nil
	}
	for _, g := range a.groups {
		if !slices.Contains(u.Groups, g.ID) {
			continue
		}
		if err := a.attachPolicies(p, g.Identity); err != nil {
			return err
		}
	}
	return nil
}

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

func (a *Account) group(name string) (*Group, error) {
	if g := a.groups[fold(name)]; g != nil {
		return g, nil
	}
	return nil, noSuchEntity("The group with name %s cannot be found.", name)
}

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
	var out []User
	for _, u := range a.users {
		if slices.Contains(u.Groups, g.ID) {
			out = append(out, u.clone())
		}
	}
	slices.SortFunc(out, func(x, y User) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// Groups returns the groups below a path prefix, ordered by name.
func (a *Account) Groups(prefix string) []Group {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sortedGroups(func(g *Group) bool { return strings.HasPrefix(g.Path, prefix) })
}

// GroupsOf returns the groups of a user, ordered by name.
func (a *Account) GroupsOf(user string) ([]Group, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	u, err := a.user(user)
	if err != nil {
		return nil, err
	}
	return a.sortedGroups(func(g *Group) bool { return slices.Contains(u.Groups, g.ID) }), nil
}

func (a *Account) sortedGroups(keep func(*Group) bool) []Group {
	var out []Group
	for _, g := range a.groups {
		if keep(g) {
			out = append(out, g.clone())
		}
	}
	slices.SortFunc(out, func(x, y Group) int { return strings.Compare(x.Name, y.Name) })
	return out
}

func (a *Account) changeGroup(name string, change func(*Group) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.group(name)
	if err != nil {
		return err
	}
	next := g.clone()
	if err := change(&next); err != nil {
		return err
	}
	if err := a.save(tableGroups, fold(name), &next); err != nil {
		return err
	}
	a.groups[fold(name)] = &next
	return nil
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
	if newPath != "" {
		next.Path = newPath
	}
	if newName != "" {
		if other := a.groups[fold(newName)]; other != nil && other != g {
			return exists("Group with name %s already exists.", newName)
		}
		next.Name = newName
	}
	if fold(next.Name) != fold(name) {
		if err := a.forget(tableGroups, fold(name)); err != nil {
			return err
		}
	}
	if err := a.save(tableGroups, fold(next.Name), &next); err != nil {
		return err
	}
	delete(a.groups, fold(name))
	a.groups[fold(next.Name)] = &next
	return nil
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
	case len(g.Inline) > 0:
		return deleteConflict("Cannot delete entity, must delete policies first.")
	case len(g.Attached) > 0:
		return deleteConflict("Cannot delete entity, must detach all policies first.")
	}
	if err := a.forget(tableGroups, fold(name)); err != nil {
		return err
	}
	delete(a.groups, fold(name))
	return nil
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
func (a *Account) changeMembership(group, user string, change func(u *User, groupID string) error) error {
	_, err := a.changeUser(user, func(u *User) error {
		g, err := a.group(group)
		if err != nil {
			return err
		}
		return change(u, g.ID)
	})
	return err
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

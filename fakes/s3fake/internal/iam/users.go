// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"maps"
	"slices"
	"strings"
)

// NewUser describes a user to create.
type NewUser struct {
	Name, Path, Boundary string
	Tags                 []Tag
}

// CreateUser adds a user.
func (a *Account) CreateUser(in NewUser) (User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users[fold(in.Name)] != nil {
		return User{}, exists("User with name %s already exists.", in.Name)
	}
	if len(a.users) >= MaxUsers {
		return User{}, limitExceeded("Cannot exceed quota for UsersPerAccount: %d", MaxUsers)
	}
	if err := a.boundaryExists(in.Boundary); err != nil {
		return User{}, err
	}
	if a.ForgetsTags {
		in.Tags = nil
	}
	u := &User{Identity: Identity{
		Name: in.Name, Path: in.Path, ID: newID("AIDA", 17), Created: a.Now().UTC(),
		Tags: slices.Clone(in.Tags), Boundary: in.Boundary, Inline: map[string]string{},
	}}
	if err := a.save(tableUsers, fold(u.Name), u); err != nil {
		return User{}, err
	}
	a.users[fold(u.Name)] = u
	return u.clone(), nil
}

func (a *Account) boundaryExists(arn string) error {
	if arn != "" && a.policies[arn] == nil && !a.awsManaged(arn) {
		return noSuchEntity("Scope ARN: %s does not exist or is not attachable.", arn)
	}
	return nil
}

func (i Identity) clone() Identity {
	i.Tags, i.Inline, i.Attached = slices.Clone(i.Tags), maps.Clone(i.Inline), slices.Clone(i.Attached)
	return i
}

func (u *User) clone() User {
	return User{Identity: u.Identity.clone(), Keys: slices.Clone(u.Keys), Groups: slices.Clone(u.Groups)}
}

// User returns a user by name.
func (a *Account) User(name string) (User, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	u, err := a.user(name)
	if err != nil {
		return User{}, err
	}
	return u.clone(), nil
}

func (a *Account) user(name string) (*User, error) { return named(a.users, KindUser, name) }

// Users returns the users below a path prefix, ordered by name.
func (a *Account) Users(prefix string) []User {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return selected(a.users, func(u *User) bool { return strings.HasPrefix(u.Path, prefix) })
}

func (a *Account) changeUser(name string, do func(*User) error) error {
	return change(a, tableUsers, a.users, fold(name), noSuch(KindUser, name), do)
}

// RenameUser changes the name or path of a user; "" leaves the value unchanged.
func (a *Account) RenameUser(name, newName, newPath string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	u, err := a.user(name)
	if err != nil {
		return err
	}
	next := u.clone()
	next.rename(newName, newPath)
	if other := a.users[fold(next.Name)]; other != nil && other != u {
		return exists("User with name %s already exists.", newName)
	}
	for i := range next.Keys {
		next.Keys[i].User = next.Name
	}
	if err := move(a, tableUsers, a.users, name, next.Name, &next); err != nil {
		return err
	}
	for _, k := range next.Keys {
		a.keys[k.ID] = fold(next.Name)
	}
	return nil
}

// DeleteUser deletes a user. The user must not have any access keys, policies or groups.
func (a *Account) DeleteUser(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	u, err := a.user(name)
	switch {
	case err != nil:
		return err
	case len(u.Keys) > 0:
		return deleteConflict("Cannot delete entity, must delete access keys first.")
	}
	if err := u.withoutPolicies(); err != nil {
		return err
	}
	if len(u.Groups) > 0 {
		return deleteConflict("Cannot delete entity, must remove users from group first.")
	}
	return remove(a, tableUsers, a.users, fold(name))
}

// CreateKey creates an access key. No other method returns its secret.
func (a *Account) CreateKey(user string) (AccessKey, error) {
	var key AccessKey
	err := a.changeUser(user, func(u *User) error {
		limit := MaxKeysPerUser
		if u.Name == RootUser {
			limit-- // its first key is the account's
		}
		if len(u.Keys) >= limit {
			return limitExceeded("Cannot exceed quota for AccessKeysPerUser: %d", MaxKeysPerUser)
		}
		key = AccessKey{ID: newID("AKIA", 16), Secret: newSecret(), User: u.Name, Status: statusActive, Created: a.Now().UTC()}
		u.Keys = append(u.Keys, key)
		a.keys[key.ID] = fold(u.Name)
		return nil
	})
	return key, err
}

// ImportKey gives a user an access key with the given ID and secret. AWS does not support this; it is for tests of
// software with fixed credentials.
func (a *Account) ImportKey(user, id, secret string) error {
	return a.changeUser(user, func(u *User) error {
		if a.keys[id] != "" || id == a.RootKey {
			return exists("Access key %s already exists.", id)
		}
		u.Keys = append(u.Keys, AccessKey{ID: id, Secret: Secret(secret), User: u.Name, Status: statusActive, Created: a.Now().UTC()})
		a.keys[id] = fold(u.Name)
		return nil
	})
}

// FirstKey returns the access key of the root user with which the server was started.
func (a *Account) FirstKey() AccessKey {
	return AccessKey{ID: a.RootKey, Secret: Secret(a.RootSecret), User: RootUser, Status: statusActive, Created: a.Now().UTC()}
}

func (u *User) key(id string) int {
	return slices.IndexFunc(u.Keys, func(k AccessKey) bool { return k.ID == id })
}

// SetKeyStatus sets the status of an access key, Active or Inactive.
func (a *Account) SetKeyStatus(user, id, status string) error {
	return a.changeUser(user, func(u *User) error {
		i := u.key(id)
		if i < 0 {
			return noSuchEntity("The Access Key with id %s cannot be found", id)
		}
		u.Keys[i].Status = status
		return nil
	})
}

// DeleteKey removes a key.
func (a *Account) DeleteKey(user, id string) error {
	return a.changeUser(user, func(u *User) error {
		i := u.key(id)
		if i < 0 {
			return noSuchEntity("The Access Key with id %s cannot be found", id)
		}
		u.Keys = slices.Delete(u.Keys, i, i+1)
		delete(a.keys, id)
		return nil
	})
}

// Key returns an access key by ID.
func (a *Account) Key(id string) (AccessKey, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if u := a.users[a.keys[id]]; u != nil {
		if i := u.key(id); i >= 0 {
			return u.Keys[i], nil
		}
	}
	return AccessKey{}, noSuchEntity("The Access Key with id %s cannot be found", id)
}

// Used records that a key has signed a request. The record is not in the journal, so it does not survive the process.
func (a *Account) Used(id, service, region string) {
	now := a.Now().UTC().Truncate(1e9)
	a.mu.RLock()
	u := a.users[a.keys[id]]
	stale := false
	if u != nil {
		i := u.key(id)
		stale = i >= 0 && (u.Keys[i].LastUsed.Before(now) || u.Keys[i].LastService != service)
	}
	a.mu.RUnlock()
	if !stale {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u = a.users[a.keys[id]]
	if u == nil {
		return
	}
	next := u.clone()
	if i := next.key(id); i >= 0 {
		next.Keys[i].LastUsed, next.Keys[i].LastService, next.Keys[i].LastRegion = now, service, region
	}
	a.users[fold(u.Name)] = &next
}

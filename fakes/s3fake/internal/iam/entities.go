// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// stored is a pointer to an entity that the account stores.
type stored[T any] interface {
	*T
	clone() T
}

// member is a pointer to a user, role or group.
type member[T any] interface {
	stored[T]
	identity() *Identity
}

func (i *Identity) identity() *Identity { return i }

// change replaces an entity by a copy with a change, unless the change fails. missing is the error if there is no
// entity with the key.
func change[T any, P stored[T]](a *Account, table string, all map[string]*T, key string, missing error, do func(*T) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if all[key] == nil {
		return missing
	}
	next := P(all[key]).clone()
	if err := do(&next); err != nil {
		return err
	}
	if err := a.save(table, key, &next); err != nil {
		return err
	}
	all[key] = &next
	return nil
}

// remove deletes an entity. The caller holds the lock.
func remove[T any](a *Account, table string, all map[string]*T, key string) error {
	if err := a.forget(table, key); err != nil {
		return err
	}
	delete(all, key)
	return nil
}

// move replaces an entity by one with another name, with both or neither of the changes in the journal. The caller holds
// the lock.
func move[T any](a *Account, table string, all map[string]*T, from, to string, next *T) error {
	c := journal.Begin(a.Journal)
	if fold(from) != fold(to) {
		c.Delete(table, fold(from))
	}
	c.Put(table, fold(to), next)
	if err := c.Commit(); err != nil {
		return fmt.Errorf("save the account: %w", err)
	}
	delete(all, fold(from))
	all[fold(to)] = next
	return nil
}

// selected returns copies of the entities for which keep returns true, ordered by name.
func selected[T any, P member[T]](all map[string]*T, keep func(*T) bool) []T {
	var out []T
	for _, e := range all {
		if keep(e) {
			out = append(out, P(e).clone())
		}
	}
	slices.SortFunc(out, func(x, y T) int { return strings.Compare(P(&x).identity().Name, P(&y).identity().Name) })
	return out
}

// named returns the entity with a name.
func named[T any](all map[string]*T, kind Kind, name string) (*T, error) {
	if e := all[fold(name)]; e != nil {
		return e, nil
	}
	return nil, noSuch(kind, name)
}

func noSuch(kind Kind, name string) error {
	return noSuchEntity("The %s with name %s cannot be found.", kind, name)
}

// identityOf returns a copy of the common fields of the result of named.
func identityOf[T any, P member[T]](e *T, err error) (Identity, error) {
	if err != nil {
		return Identity{}, err
	}
	return P(e).identity().clone(), nil
}

// rename sets name and path, unless they are "".
func (i *Identity) rename(name, path string) {
	i.Name, i.Path = cmp.Or(name, i.Name), cmp.Or(path, i.Path)
}

// withoutPolicies returns IAM's error for the deletion of an identity that has policies.
func (i *Identity) withoutPolicies() error {
	switch {
	case len(i.Inline) > 0:
		return deleteConflict("Cannot delete entity, must delete policies first.")
	case len(i.Attached) > 0:
		return deleteConflict("Cannot delete entity, must detach all policies first.")
	}
	return nil
}

// Entity is a user, role or group of any kind.
type Entity struct {
	Identity

	Kind Kind
}

// each calls do for all users, roles and groups. The caller holds the lock.
func (a *Account) each(do func(kind Kind, i *Identity)) {
	for _, u := range a.users {
		do(KindUser, &u.Identity)
	}
	for _, r := range a.roles {
		do(KindRole, &r.Identity)
	}
	for _, g := range a.groups {
		do(KindGroup, &g.Identity)
	}
}

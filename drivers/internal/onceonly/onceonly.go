// SPDX-License-Identifier: Apache-2.0

// Package onceonly is the algorithm for credentials that a store shows only at their creation.
//
// It keeps one promise: a credential is answered only after it is in the credential store. A key at
// the backend that is not in the store was therefore never delivered, and is removed; every repeat
// answers the stored key.
package onceonly

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Keys are the keys of one account at the backend.
type Keys interface {
	// List answers the keys, and whether each is active.
	List(ctx context.Context) ([]Key, error)
	// Create makes a key. It must not be repeated by the client after a lost answer.
	Create(ctx context.Context) (credstore.Credential, error)
	// Delete removes a key. That there is none is no error.
	Delete(ctx context.Context, id string) error
}

// Key is a key without its secret.
type Key struct {
	ID     string
	Active bool
}

// Credential answers the credential of the account, and makes one only if there is none, if it was
// removed at the backend, or if rotation differs from the last grant's. After a rotation exactly the
// previous credential keeps working.
//
// The caller has made sure that the account carries the ID of this store.
func Credential(ctx context.Context, store credstore.Store, id, rotation string, keys Keys) (credstore.Credential, error) {
	entry, err := store.Get(ctx, id)
	if err != nil && !errors.Is(err, credstore.ErrNotFound) {
		return credstore.Credential{}, StoreError(id, err)
	}
	entry.Account = id
	live, err := keys.List(ctx)
	if err != nil {
		return credstore.Credential{}, err
	}
	if live, err = removeUnknown(ctx, keys, live, entry); err != nil {
		return credstore.Credential{}, err
	}
	current := slices.IndexFunc(live, func(k Key) bool { return k.ID == entry.Current.ID })
	if current >= 0 && !live[current].Active {
		return credstore.Credential{}, driverkit.FailedPrecondition(
			"key %s of account %s was made inactive at the store; activate it, or delete it to have a new one made", entry.Current.ID, id)
	}
	if current >= 0 && entry.Rotation == rotation {
		return entry.Current, nil
	}
	return create(ctx, store, entry, rotation, keys, current >= 0)
}

// create makes room for one key, makes it, stores it and answers it.
func create(ctx context.Context, store credstore.Store, entry credstore.Entry, rotation string, keys Keys, currentLives bool) (credstore.Credential, error) {
	if entry.Previous != nil && currentLives {
		if err := keys.Delete(ctx, entry.Previous.ID); err != nil {
			return credstore.Credential{}, err
		}
	}
	made, err := keys.Create(ctx)
	if err != nil {
		return credstore.Credential{}, err
	}
	if currentLives {
		previous := entry.Current
		entry.Previous = &previous
	}
	entry.Current, entry.Rotation = made, rotation
	stored, err := store.Put(ctx, entry)
	if err != nil {
		return credstore.Credential{}, StoreError(entry.Account, err)
	}
	return stored.Current, nil
}

// removeUnknown removes the keys that were never delivered, and answers the others.
func removeUnknown(ctx context.Context, keys Keys, live []Key, entry credstore.Entry) ([]Key, error) {
	var known []Key
	for _, key := range live {
		if entry.Knows(key.ID) {
			known = append(known, key)
			continue
		}
		if err := keys.Delete(ctx, key.ID); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// StoreError answers what a failure of the credential store means for the call about an account.
func StoreError(id string, err error) error {
	switch {
	case errors.Is(err, credstore.ErrConflict):
		return driverkit.Aborted("account %s is being changed by another process", id).WithDetail(err)
	case errors.Is(err, credstore.ErrCorrupt):
		return driverkit.FailedPrecondition("the stored credential of account %s is damaged; the driver's log says how to go on", id).WithDetail(err)
	case errors.Is(err, credstore.ErrStoreID):
		return driverkit.FailedPrecondition("credential store lost; the driver's log says how to go on").WithDetail(err)
	default:
		return driverkit.Unavailable("the credential store cannot be used").WithDetail(fmt.Errorf("account %s: %w", id, err))
	}
}

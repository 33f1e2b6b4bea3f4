// SPDX-License-Identifier: Apache-2.0

// Package supplied is the algorithm for stores that take a credential from their caller.
//
// The credential is made here and put into the credential store before the backend hears of it.
// Whatever happens in between, the next call finds it there and gives the backend the same one, so
// that nothing can be left behind.
package supplied

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/onceonly"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Notes of an account.
const (
	// noteParams is the hash of the request that made the account.
	noteParams = "params"
	// noteBuckets are the names of the buckets, separated by spaces.
	noteBuckets = "buckets"
)

// Keys are the keys of one account at the backend.
type Keys interface {
	// Ensure makes sure that the key exists, with this secret and the account's rights.
	Ensure(ctx context.Context, key credstore.Credential) error
	// Remove makes sure that the key does not exist.
	Remove(ctx context.Context, id string) error
}

// Credential answers the credential of the account: the same one on every repeat, a new one when
// rotation changes. After a rotation exactly the previous credential keeps working.
func Credential(ctx context.Context, store credstore.Store, request account.Request, keys Keys) (credstore.Credential, error) {
	entry, err := reserve(ctx, store, request, keys)
	if err != nil {
		return credstore.Credential{}, err
	}
	if entry.Previous != nil {
		if err := keys.Ensure(ctx, *entry.Previous); err != nil {
			return credstore.Credential{}, err
		}
	}
	return entry.Current, keys.Ensure(ctx, entry.Current)
}

// reserve answers the entry with the credential for this request, after storing it.
func reserve(ctx context.Context, store credstore.Store, request account.Request, keys Keys) (credstore.Entry, error) {
	entry, err := store.Get(ctx, request.ID)
	switch {
	case errors.Is(err, credstore.ErrNotFound):
		entry = credstore.Entry{Account: request.ID, Notes: notes(request)}
	case err != nil:
		return credstore.Entry{}, onceonly.StoreError(request.ID, err)
	case entry.Notes[noteParams] != request.Hash:
		return credstore.Entry{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", request.ID)
	case entry.Rotation == request.Rotation:
		return entry, nil
	default:
		if entry.Previous != nil {
			if err := keys.Remove(ctx, entry.Previous.ID); err != nil {
				return credstore.Entry{}, err
			}
		}
		previous := entry.Current
		entry.Previous = &previous
	}
	entry.Rotation, entry.Current = request.Rotation, newCredential(request.Name)
	stored, err := store.Put(ctx, entry)
	if err != nil {
		return credstore.Entry{}, onceonly.StoreError(request.ID, err)
	}
	return stored, nil
}

func notes(request account.Request) map[string]string {
	var buckets []string
	for _, bucket := range request.Buckets {
		buckets = append(buckets, bucket.Name)
	}
	return map[string]string{noteParams: request.Hash, noteBuckets: strings.Join(buckets, " ")}
}

// newCredential makes a key whose public half names the account.
func newCredential(name string) credstore.Credential {
	var suffix [4]byte
	// crypto/rand.Read never fails; it ends the program when the system has no randomness.
	_, _ = rand.Read(suffix[:])
	return credstore.Credential{ID: name + "-" + hex.EncodeToString(suffix[:]), Secret: cosi.NewSecret(rand.Text() + rand.Text()[:14])}
}

// Remove removes the keys of the account that the store knows.
func Remove(ctx context.Context, store credstore.Store, id string, keys Keys) error {
	entry, err := store.Get(ctx, id)
	if errors.Is(err, credstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return onceonly.StoreError(id, err)
	}
	known := []credstore.Credential{entry.Current}
	if entry.Previous != nil {
		known = append(known, *entry.Previous)
	}
	for _, key := range known {
		if err := keys.Remove(ctx, key.ID); err != nil {
			return err
		}
	}
	return nil
}

// Buckets answers the buckets that the account was granted, as noted at its creation.
func Buckets(ctx context.Context, store credstore.Store, id string) ([]string, error) {
	entry, err := store.Get(ctx, id)
	if errors.Is(err, credstore.ErrNotFound) || err == nil && entry.Notes[noteBuckets] == "" {
		return nil, nil
	}
	if err != nil {
		return nil, onceonly.StoreError(id, err)
	}
	return strings.Split(entry.Notes[noteBuckets], " "), nil
}

// IDs answers the public halves of the account's keys that the store knows.
func IDs(ctx context.Context, store credstore.Store, id string) ([]string, error) {
	entry, err := store.Get(ctx, id)
	if errors.Is(err, credstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, onceonly.StoreError(id, err)
	}
	ids := []string{entry.Current.ID}
	if entry.Previous != nil {
		ids = append(ids, entry.Previous.ID)
	}
	return ids, nil
}

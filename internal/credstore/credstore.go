// SPDX-License-Identifier: Apache-2.0

// Package credstore keeps the credentials that a storage backend shows only once, so that a driver
// can return the identical credential on every repeated grant.
//
// A driver returns a credential only after it is in the store. A key of the backend that is not in
// the store was therefore never delivered to anybody, and the driver may delete it. That holds only
// while the store survives: each store has a random ID, made when the store is made, and the driver
// marks every account it makes with that ID. An account with the mark of another store is never
// touched.
//
// The package must not import Kubernetes; the implementation on Secrets is the sub-package kube.
// RemoteBlobs is the client of the store that a sidecar serves to its driver.
package credstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Errors that callers tell apart with errors.Is. Implementations wrap them with the place.
var (
	// ErrNotFound says that the store holds nothing for the account.
	ErrNotFound = errors.New("no credential stored")
	// ErrConflict says that somebody else wrote the entry since it was read; read it again.
	ErrConflict = errors.New("the stored credential was changed by another writer")
	// ErrCorrupt says that the stored data cannot be trusted. Nothing was changed.
	ErrCorrupt = errors.New("the stored credential is damaged")
	// ErrStoreID says that the store has entries but no ID, or another one than before, so that it
	// is not the store that the driver wrote to.
	ErrStoreID = errors.New("the credential store has lost its ID")
)

// Store keeps one Entry for each account ID. All methods are safe for concurrent use, also by
// several processes where the implementation is on shared storage.
type Store interface {
	// ID returns the random ID that the store got when it was made: 32 hexadecimal digits.
	ID(ctx context.Context) (string, error)
	// Get returns the entry of the account, or an error that wraps ErrNotFound or ErrCorrupt.
	Get(ctx context.Context, account string) (Entry, error)
	// Put writes the entry durably before it returns, and returns it with its new version. An
	// empty Version asks for a new entry; any other value must be the version that Get or Put
	// returned. An error that wraps ErrConflict says that the entry has another version by now.
	Put(ctx context.Context, entry Entry) (Entry, error)
	// Delete removes the entry of the account. That there is none is no error.
	Delete(ctx context.Context, account string) error
}

// Entry is what the store keeps for one account.
type Entry struct {
	// Account is the COSI account ID.
	Account string
	// Rotation is the rotation request that Current was made for, empty for the first credential.
	Rotation string
	// Current is the credential that every grant returns.
	Current Credential
	// Previous is the credential before the last rotation, which still works; nil without one.
	Previous *Credential
	// Notes are facts that the driver must not lose, none of them secret. An entry may hold notes
	// without a credential.
	Notes map[string]string
	// Version identifies this state of the entry. It is the store's, opaque to callers.
	Version string
}

// Credential is one key of a backend.
type Credential struct {
	// ID is the public half, such as an access key ID.
	ID string
	// Secret is the secret half.
	Secret cosi.Secret
}

// IDs returns the public halves of the credentials in the entry, the current one first.
func (e Entry) IDs() []string {
	var ids []string
	if e.Current.ID != "" {
		ids = append(ids, e.Current.ID)
	}
	if e.Previous != nil {
		ids = append(ids, e.Previous.ID)
	}
	return ids
}

// Knows reports whether the entry holds the credential with this public half.
func (e Entry) Knows(id string) bool { return slices.Contains(e.IDs(), id) }

func (e Entry) validate() error {
	switch {
	case e.Account == "":
		return errors.New("store a credential: the account is empty")
	case e.Current.ID == "" && e.Current.Secret.IsZero() && len(e.Notes) > 0:
		return nil
	case e.Current.ID == "" || e.Current.Secret.IsZero():
		return fmt.Errorf("store the credential of account %q: ID or secret is empty", e.Account)
	}
	return nil
}

// NewID makes a store ID: 128 random bits as 32 hexadecimal digits.
func NewID() string {
	var raw [16]byte
	// crypto/rand.Read never fails; it ends the program when the system has no randomness.
	_, _ = rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

func notFound(account string) error { return fmt.Errorf("account %q: %w", account, ErrNotFound) }

func conflict(account string) error { return fmt.Errorf("account %q: %w", account, ErrConflict) }

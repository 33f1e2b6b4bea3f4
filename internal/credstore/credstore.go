// SPDX-License-Identifier: Apache-2.0

// Package credstore stores the credentials that a storage backend shows only once, so that a driver returns the same
// credential on every repeated grant.
//
// A driver stores a credential before it returns the credential. If the backend has a key that is not in the store, the
// key was therefore never delivered, and the driver may delete it. This conclusion is valid only while the store is
// intact. Each store therefore has a random ID that is created together with the store. The driver marks every account
// that it creates with the ID of its store, and never changes an account with the mark of another store.
//
// A Store keeps entries. OnBlobs returns a Store that keeps its entries in Blobs, which store bytes by name. The
// implementations of Blobs use memory, a directory, Secrets (subpackage kube) or a remote store (Remote, the client of
// a Server). The sidecar runs the Server for its driver, on Secrets, so the driver needs no access to Kubernetes.
// Encrypted returns a Store that encrypts the secrets in another Store.
//
// Drivers use the store through drivers/driverkit/credentials.
package credstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Errors to be compared with errors.Is. Implementations wrap them and add the location.
var (
	// ErrNotFound reports that the store has no entry for the account.
	ErrNotFound = errors.New("no credential stored")
	// ErrConflict reports that another writer changed the entry since it was read. Read it again.
	ErrConflict = errors.New("the stored credential was changed by another writer")
	// ErrCorrupt reports that the stored data is damaged. Nothing was changed.
	ErrCorrupt = errors.New("the stored credential is damaged")
	// ErrStoreID reports that the store has entries but no ID, or that its ID has changed. The store is then not the
	// one that the driver wrote to.
	ErrStoreID = errors.New("the credential store has lost its ID")
)

// Store keeps one Entry for each account ID. All methods are safe for concurrent use. If the implementation uses shared
// storage, several processes can use the store at the same time.
type Store interface {
	// ID returns the random ID that was created together with the store: 32 hexadecimal digits.
	ID(ctx context.Context) (string, error)
	// Get returns the entry of the account, or an error that wraps ErrNotFound or ErrCorrupt.
	Get(ctx context.Context, account string) (Entry, error)
	// Put writes the entry durably and returns it with its new version. An empty Version creates a new entry. Any
	// other value must be the version that Get or Put returned; if the entry has another version by now, the error
	// wraps ErrConflict.
	Put(ctx context.Context, entry Entry) (Entry, error)
	// Delete removes the entry of the account. It succeeds if there is none.
	Delete(ctx context.Context, account string) error
}

// Entry is the stored data of one account.
type Entry struct {
	// Account is the COSI account ID.
	Account string
	// Rotation is the rotation request for which Current was created. It is empty for the first credential.
	Rotation string
	// Current is the credential that every grant returns.
	Current Credential
	// Previous is the credential before the last rotation, which is still valid, or nil.
	Previous *Credential
	// Notes are facts that the driver must not lose. They are not secret. An entry may have notes without a
	// credential.
	Notes map[string]string
	// Version identifies this state of the entry. It is set by the store and opaque to callers.
	Version string
}

// Credential is one key of a backend.
type Credential struct {
	// ID is the public half, such as an access key ID.
	ID string
	// Secret is the secret half.
	Secret cosi.Secret
}

// IDs returns the public halves of the entry's credentials, the current one first.
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

// Knows reports whether the entry contains the credential with this public half.
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

// clone returns a deep copy.
func (e Entry) clone() Entry {
	if e.Previous != nil {
		previous := *e.Previous
		e.Previous = &previous
	}
	e.Notes = maps.Clone(e.Notes)
	return e
}

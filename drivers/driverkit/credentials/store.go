// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Store keeps one Entry for each account, durably. OpenSidecar, OpenDirectory and NewMemory make one; a program
// with another place to keep secrets implements it.
type Store = credstore.Store

// Entry is what a Store keeps for one account.
type Entry = credstore.Entry

// Credential is one key of a backend: an ID, which is no secret, and a secret.
type Credential = credstore.Credential

// Errors of a Store, to be told apart with errors.Is.
var (
	// ErrNotFound says that the store holds nothing for the account.
	ErrNotFound = credstore.ErrNotFound
	// ErrConflict says that somebody else wrote the entry since it was read.
	ErrConflict = credstore.ErrConflict
	// ErrCorrupt says that the stored data cannot be trusted.
	ErrCorrupt = credstore.ErrCorrupt
	// ErrStoreID says that it is not the store that the driver wrote to.
	ErrStoreID = credstore.ErrStoreID
)

// OpenDirectory opens a store in a directory, which it makes if need be. Entries are files, replaced
// as a whole and synced. The directory must not be shared by two drivers.
func OpenDirectory(path string) (Store, error) {
	store, err := credstore.OpenDirectory(path)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// OpenSidecar returns the store that a sidecar of Cooper serves to its driver at an address such as
// unix:///var/lib/cosi/credentials.sock. It connects with the first call, so that a driver may start
// before its sidecar; until the sidecar works, calls of the store fail as unavailable.
func OpenSidecar(address string) (Store, error) {
	blobs, err := credstore.NewRemoteBlobs(address)
	if err != nil {
		return nil, err
	}
	return credstore.OnBlobs(blobs), nil
}

// Encrypted returns a store that encrypts the secrets of credentials before they are in store, with
// the keys of a file. docs/howto/encrypt-credentials.md says what is in it and how to change keys.
func Encrypted(store Store, keyFile string) (Store, error) {
	keys, err := credstore.ReadKeys(keyFile)
	if err != nil {
		return nil, err
	}
	return credstore.Encrypted(store, keys), nil
}

// NewMemory makes a store that forgets everything when the process ends, for tests.
func NewMemory() Store { return credstore.NewMemory() }

// Request asks for the credential of an account.
type Request struct {
	// Account is the COSI account ID.
	Account string
	// Rotation asks for another credential when it differs from the last one.
	Rotation string
	// New says that this call made the account, so that it has no keys, whatever the store knows.
	New bool
}

// StoreError returns what a failure of the store means for the call about an account.
func StoreError(account string, err error) error {
	switch {
	case errors.Is(err, ErrConflict):
		return driverkit.Aborted("account %s is being changed by another process", account).WithDetail(err)
	case errors.Is(err, ErrCorrupt):
		return driverkit.FailedPrecondition("the stored credential of account %s is damaged; the driver's log says how to go on", account).WithDetail(err)
	case errors.Is(err, ErrStoreID):
		return driverkit.FailedPrecondition("credential store lost; the driver's log says how to go on").WithDetail(err)
	default:
		return driverkit.Unavailable("the credential store cannot be used").WithDetail(fmt.Errorf("account %s: %w", account, err))
	}
}

// lookUp returns the entry of an account, an empty one with its name if there is none.
func lookUp(ctx context.Context, store Store, account string) (entry Entry, exists bool, err error) {
	entry, err = store.Get(ctx, account)
	switch {
	case errors.Is(err, ErrNotFound):
		return Entry{Account: account}, false, nil
	case err != nil:
		return Entry{}, false, StoreError(account, err)
	}
	return entry, true, nil
}

// forget removes the entry of an account, as the last step of a revoke.
func forget(ctx context.Context, store Store, account string) error {
	if err := store.Delete(ctx, account); err != nil {
		return StoreError(account, err)
	}
	return nil
}

// removeAll removes all of it, and then what else belongs to the account.
func removeAll[T any](ctx context.Context, all []T, remove func(context.Context, T) error, rest func(context.Context) error) error {
	for _, one := range all {
		if err := remove(ctx, one); err != nil {
			return err
		}
	}
	if rest == nil {
		return nil
	}
	return rest(ctx)
}

// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Store durably keeps one Entry for each account. OpenSidecar, OpenDirectory and NewMemory create one. Programs that
// keep secrets elsewhere can implement it.
type Store = credstore.Store

// Entry is the stored data of one account.
type Entry = credstore.Entry

// Credential is one key of a backend: an ID, which is not secret, and a secret.
type Credential = credstore.Credential

// Errors of a Store. Check for them with errors.Is.
var (
	// ErrNotFound means that the store has no entry for the account.
	ErrNotFound = credstore.ErrNotFound
	// ErrConflict means that another process has written the entry since it was read.
	ErrConflict = credstore.ErrConflict
	// ErrCorrupt means that the stored data cannot be trusted.
	ErrCorrupt = credstore.ErrCorrupt
	// ErrStoreID means that this is not the store that the driver used before.
	ErrStoreID = credstore.ErrStoreID
)

// OpenDirectory opens a store in a directory and creates the directory if necessary. Entries are files, which are
// replaced atomically and synced. Two drivers must not share a directory.
func OpenDirectory(path string) (Store, error) {
	directory, err := credstore.OpenDirectory(path)
	if err != nil {
		return nil, err
	}
	return credstore.OnBlobs(directory), nil
}

// OpenSidecar returns the store that a Cooper sidecar serves to its driver at an address such as
// unix:///var/lib/cosi/credentials.sock. It connects on the first call, so a driver may start before its sidecar.
// Until the sidecar is running, calls fail as unavailable.
func OpenSidecar(address string) (Store, error) {
	remote, err := credstore.Dial(address)
	if err != nil {
		return nil, err
	}
	return credstore.OnBlobs(remote), nil
}

// Encrypted returns a store that encrypts the secrets of credentials with keys from a file before it writes them to
// the given store. See docs/howto/encrypt-credentials.md for the format of the file and for key rotation. An empty keyFile
// is an error, because the secrets would not be encrypted.
func Encrypted(store Store, keyFile string) (Store, error) {
	if keyFile == "" {
		return nil, errors.New("the name of the key file is empty")
	}
	return credstore.Encrypted(store, keyFile)
}

// NewMemory returns an in-memory store for tests.
func NewMemory() Store { return credstore.NewMemory() }

// Request is a request for the credential of an account.
type Request struct {
	// Account is the COSI account ID.
	Account string
	// Rotation requests a new credential if it differs from the last rotation.
	Rotation string
	// New means that this call created the account, so the account has no keys even if the store has an entry.
	New bool
}

// StoreError translates a store error into the error for a call about an account.
func StoreError(account string, err error) error {
	switch {
	case errors.Is(err, ErrConflict):
		return driverkit.Aborted("another process is changing account %s; the driver tries again", account).WithDetail(err)
	case errors.Is(err, ErrCorrupt):
		return driverkit.FailedPrecondition("the stored credential of account %s is damaged; see the driver's log for how to repair it", account).WithDetail(err)
	case errors.Is(err, ErrStoreID):
		return driverkit.FailedPrecondition("credential store lost; see the driver's log for how to restore it").WithDetail(err)
	default:
		return driverkit.Unavailable("the driver cannot use its credential store; see the driver's log for the reason").WithDetail(fmt.Errorf("account %s: %w", account, err))
	}
}

// lookUp returns the entry of an account, or an empty entry with its name if there is none.
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

// forget deletes the entry of an account, as the last step of a revoke.
func forget(ctx context.Context, store Store, account string) error {
	if err := store.Delete(ctx, account); err != nil {
		return StoreError(account, err)
	}
	return nil
}

// removeAll calls remove for all elements and then rest for everything else that belongs to the account.
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

// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/rand"
	"maps"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// noteGrant is the note that holds the hash of the access that an account was created for.
const noteGrant = "params"

// SuppliedKeys manages the keys of one account at a backend that accepts secrets chosen by the caller, such as MinIO or
// versitygw.
type SuppliedKeys interface {
	// Make generates a key locally, without any call. Its ID must differ from the IDs of all earlier keys.
	Make() Credential
	// Ensure ensures that the key exists at the backend, with this secret and the account's permissions.
	Ensure(ctx context.Context, key Credential) error
	// Remove ensures that the key does not exist.
	Remove(ctx context.Context, id string) error
}

// SuppliedRequest is a Request with additional data that the store keeps for the account.
type SuppliedRequest struct {
	Request

	// Hash identifies the requested access: requests for the same access have the same Hash. A grant for an account with
	// another hash returns AlreadyExists.
	Hash string
	// Notes are stored in the entry of a new account. They contain data that a revoke needs but that its request does
	// not contain. They are not secret.
	Notes map[string]string
}

// GrantSupplied returns the credential of the account. Repeated calls return the same credential until the rotation
// changes. After a rotation, only the new credential and the one before it work.
//
// GrantSupplied generates the credential and stores it before it sends it to the backend. After a crash, the next
// call reads the credential from the store and sends it again, so no orphaned key remains.
func GrantSupplied(ctx context.Context, store Store, request SuppliedRequest, keys SuppliedKeys) (Credential, error) {
	entry, err := reserve(ctx, store, request, keys)
	if err != nil {
		return Credential{}, err
	}
	ensured := ensureKeys(ctx, entry, keys)
	// Check this even after an error: a key whose creation was reported as failed may work.
	if err := checkUnchanged(ctx, store, entry, keys); err != nil {
		return Credential{}, err
	}
	if ensured != nil {
		return Credential{}, ensured
	}
	return entry.Current, nil
}

// ensureKeys ensures that the backend has the keys of the entry.
func ensureKeys(ctx context.Context, entry Entry, keys SuppliedKeys) error {
	if entry.Previous != nil {
		if err := keys.Ensure(ctx, *entry.Previous); err != nil {
			return err
		}
	}
	return keys.Ensure(ctx, entry.Current)
}

// checkUnchanged returns Aborted if another process has changed or deleted the entry since this one read it. It first
// removes from the backend the keys that the stored entry no longer has: this process, which may be a former leader,
// has just reactivated them, and a user may still hold a revoked key.
func checkUnchanged(ctx context.Context, store Store, entry Entry, keys SuppliedKeys) error {
	now, _, err := lookUp(ctx, store, entry.Account)
	if err != nil || now.Version == entry.Version {
		return err
	}
	for _, id := range entry.IDs() {
		if !now.Knows(id) {
			if err := keys.Remove(ctx, id); err != nil {
				return err
			}
		}
	}
	return StoreError(entry.Account, ErrConflict)
}

// reserve stores the credential for this request if necessary and returns the entry.
func reserve(ctx context.Context, store Store, request SuppliedRequest, keys SuppliedKeys) (Entry, error) {
	entry, exists, err := lookUp(ctx, store, request.Account)
	switch {
	case err != nil:
		return Entry{}, err
	case !exists:
		entry.Notes = map[string]string{noteGrant: request.Hash}
		maps.Copy(entry.Notes, request.Notes)
	case entry.Notes[noteGrant] != request.Hash:
		return Entry{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.Account)
	case entry.Rotation == request.Rotation:
		return entry, nil
	default:
		if entry.Previous != nil {
			if err := keys.Remove(ctx, entry.Previous.ID); err != nil {
				return Entry{}, err
			}
		}
		previous := entry.Current
		entry.Previous = &previous
	}
	entry.Rotation, entry.Current = request.Rotation, keys.Make()
	stored, err := store.Put(ctx, entry)
	if err != nil {
		return Entry{}, StoreError(request.Account, err)
	}
	return stored, nil
}

// RevokeSupplied removes the stored keys of the account; no other keys can exist. It then calls rest, if it is not
// nil, to remove everything else that belongs to the account. It deletes the stored entry last.
func RevokeSupplied(ctx context.Context, store Store, account string, keys SuppliedKeys, rest func(context.Context) error) error {
	ids, err := StoredIDs(ctx, store, account)
	if err != nil {
		return err
	}
	if err := removeAll(ctx, ids, keys.Remove, rest); err != nil {
		return err
	}
	return forget(ctx, store, account)
}

// StoredIDs returns the IDs of the account's stored keys, the current one first.
func StoredIDs(ctx context.Context, store Store, account string) ([]string, error) {
	entry, _, err := lookUp(ctx, store, account)
	return entry.IDs(), err
}

// StoredNote returns a note of the account, or "" if it is not set.
func StoredNote(ctx context.Context, store Store, account, note string) (string, error) {
	entry, _, err := lookUp(ctx, store, account)
	return entry.Notes[note], err
}

// NewSecret returns a secret of 200 random bits, encoded as 40 letters and digits.
func NewSecret() cosi.Secret {
	const length = 40
	return cosi.NewSecret((rand.Text() + rand.Text())[:length])
}

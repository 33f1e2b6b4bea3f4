// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/rand"
	"maps"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// noteGrant is the note with the hash of the access that an account was made for.
const noteGrant = "params"

// SuppliedKeys are the keys of one account at a backend that takes the secret from its caller, such
// as MinIO, versitygw or Ceph RGW.
type SuppliedKeys interface {
	// Make makes up a key and calls nobody. Its ID must not be that of an earlier one.
	Make() Credential
	// Ensure makes sure that the key exists at the backend, with this secret and the account's rights.
	Ensure(ctx context.Context, key Credential) error
	// Remove makes sure that the key does not exist.
	Remove(ctx context.Context, id string) error
}

// SuppliedRequest is a Request and what the store remembers with the account.
type SuppliedRequest struct {
	Request

	// Hash is equal for requests of equal access. The account of another one is AlreadyExists.
	Hash string
	// Notes are kept in the entry of a new account: what a revoke needs and its request does not have. They are
	// not secret.
	Notes map[string]string
}

// GrantSupplied returns the credential of the account: the same one on every repeat, another one when
// the rotation changes. After a rotation exactly the previous credential keeps working.
//
// The credential is made here and stored before the backend hears of it. Whatever happens in between,
// the next call finds it there and gives the backend the same one, so that nothing is left behind.
func GrantSupplied(ctx context.Context, store Store, request SuppliedRequest, keys SuppliedKeys) (Credential, error) {
	entry, err := reserve(ctx, store, request, keys)
	if err != nil {
		return Credential{}, err
	}
	ensured := ensureKeys(ctx, entry, keys)
	// Also a key that was not completed may work again.
	if err := checkUnchanged(ctx, store, entry, keys); err != nil {
		return Credential{}, err
	}
	if ensured != nil {
		return Credential{}, ensured
	}
	return entry.Current, nil
}

// ensureKeys makes sure that the backend has the keys of the entry.
func ensureKeys(ctx context.Context, entry Entry, keys SuppliedKeys) error {
	if entry.Previous != nil {
		if err := keys.Ensure(ctx, *entry.Previous); err != nil {
			return err
		}
	}
	return keys.Ensure(ctx, entry.Current)
}

// checkUnchanged returns Aborted if another process has changed or deleted the entry since this one read it. Before, it
// removes the keys that no entry holds any more: this process, which may be a former leader, has just made them work
// again, and a revoked key may still be in the hands of its user.
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

// reserve returns the entry with the credential for this request, after storing it.
func reserve(ctx context.Context, store Store, request SuppliedRequest, keys SuppliedKeys) (Entry, error) {
	entry, exists, err := lookUp(ctx, store, request.Account)
	switch {
	case err != nil:
		return Entry{}, err
	case !exists:
		entry.Notes = map[string]string{noteGrant: request.Hash}
		maps.Copy(entry.Notes, request.Notes)
	case entry.Notes[noteGrant] != request.Hash:
		return Entry{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", request.Account)
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

// RevokeSupplied removes the keys of the account that the store knows, which are all there can be,
// then what else belongs to the account (rest, which may be nil), and what is stored last.
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

// StoredIDs returns the IDs of the account's keys that the store knows, the current one first.
func StoredIDs(ctx context.Context, store Store, account string) ([]string, error) {
	entry, _, err := lookUp(ctx, store, account)
	return entry.IDs(), err
}

// StoredNote returns a note of the account, empty without one.
func StoredNote(ctx context.Context, store Store, account, note string) (string, error) {
	entry, _, err := lookUp(ctx, store, account)
	return entry.Notes[note], err
}

// NewSecret makes a secret of 200 random bits, 40 letters and digits.
func NewSecret() cosi.Secret {
	const length = 40
	return cosi.NewSecret((rand.Text() + rand.Text())[:length])
}

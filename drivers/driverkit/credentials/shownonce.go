// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// ShownOnceKeys manages the keys of one account at a backend that returns a secret only on creation, such as AWS IAM,
// HMAC keys of Google Cloud Storage, or a key API that does not accept a secret. The backend must allow two keys per
// account.
type ShownOnceKeys interface {
	// List returns all keys of the account. The list may be stale: a revoke deletes the stored keys even if they are not
	// listed, and a grant may return a new key before it is listed (see Young).
	List(ctx context.Context) ([]ShownOnceKey, error)
	// Create creates a key. The client must not retry when a response is lost.
	Create(ctx context.Context) (Credential, error)
	// Delete deletes a key. A missing key is not an error.
	Delete(ctx context.Context, id string) error
}

// ShownOnceKey is a key without its secret.
type ShownOnceKey struct {
	ID string
	// Active is false if an administrator disabled the key.
	Active bool
}

// Young is how long a new key may be used although lists do not contain it yet. Lists must not be stale for longer
// than this.
const Young = 5 * time.Minute

// NoteMade is the name of the note that records when the current key of an entry was created.
const NoteMade = "made"

// noteClaim is the note that claim changes.
const noteClaim = "claim"

// GrantShownOnce returns the credential of the account. It creates a credential only if the account has none, if the
// credential was removed at the backend, or if the rotation differs from that of the last grant. After a rotation,
// only the new credential and the one before it work.
//
// GrantShownOnce stores a credential before it returns it. If the backend has a key that is not in the store, that
// key was therefore never delivered, and GrantShownOnce removes it. With another store, it would remove live keys, so
// the caller must first check that the account carries the ID of this store.
//
// Two processes, a former and the current leader, may grant one account at the same time. At most one of them returns a
// credential, and that credential works. The other one gets Aborted.
func GrantShownOnce(ctx context.Context, store Store, request Request, keys ShownOnceKeys) (Credential, error) {
	entry, _, err := lookUp(ctx, store, request.Account)
	if err != nil {
		return Credential{}, err
	}
	live, err := keys.List(ctx)
	if err != nil {
		return Credential{}, err
	}
	known, unknown := split(live, entry)
	if len(unknown) > 0 {
		if entry, err = claim(ctx, store, entry); err != nil {
			return Credential{}, err
		}
		if err := removeAll(ctx, unknown, keys.Delete, nil); err != nil {
			return Credential{}, err
		}
	}
	current := slices.IndexFunc(known, func(k ShownOnceKey) bool { return k.ID == entry.Current.ID })
	if current >= 0 && !known[current].Active {
		return Credential{}, driverkit.FailedPrecondition(
			"key %s of account %s was deactivated in the store; activate the key, or delete it to let the driver create another", entry.Current.ID, request.Account)
	}
	lives := current >= 0 || !request.New && isYoung(entry)
	if lives && entry.Rotation == request.Rotation {
		return entry.Current, nil
	}
	return createShownOnce(ctx, store, entry, request.Rotation, keys, lives)
}

func isYoung(entry Entry) bool {
	made, err := time.Parse(time.RFC3339, entry.Notes[NoteMade])
	return err == nil && time.Since(made) < Young
}

// createShownOnce deletes a key if necessary, creates a new one, stores it and returns it.
func createShownOnce(ctx context.Context, store Store, entry Entry, rotation string, keys ShownOnceKeys, currentLives bool) (Credential, error) {
	if entry.Previous != nil && currentLives {
		if err := keys.Delete(ctx, entry.Previous.ID); err != nil {
			return Credential{}, err
		}
	}
	made, err := keys.Create(ctx)
	if err != nil {
		return Credential{}, err
	}
	if currentLives {
		previous := entry.Current
		entry.Previous = &previous
	}
	entry.Current, entry.Rotation = made, rotation
	entry.Notes = map[string]string{NoteMade: time.Now().UTC().Format(time.RFC3339)}
	stored, err := store.Put(ctx, entry)
	if err != nil {
		return Credential{}, StoreError(entry.Account, err)
	}
	return stored.Current, nil
}

// claim writes the entry back with only a note changed, and returns it. Of two processes that have read the same entry,
// only one can write it. If another process has stored a key since, the write fails and this process must not remove
// that key. If the write succeeds, the other process can no longer store its key, and therefore does not deliver it.
// The note is random because Kubernetes does not assign a new version to an object that does not change.
func claim(ctx context.Context, store Store, entry Entry) (Entry, error) {
	notes := map[string]string{}
	maps.Copy(notes, entry.Notes)
	notes[noteClaim] = rand.Text()
	entry.Notes = notes
	stored, err := store.Put(ctx, entry)
	if err != nil {
		return Entry{}, StoreError(entry.Account, err)
	}
	return stored, nil
}

// split separates the keys in the entry from the IDs of all others.
func split(live []ShownOnceKey, entry Entry) (known []ShownOnceKey, unknown []string) {
	for _, key := range live {
		if entry.Knows(key.ID) {
			known = append(known, key)
		} else {
			unknown = append(unknown, key.ID)
		}
	}
	return known, unknown
}

// RevokeShownOnce removes all keys of the account. It then calls rest, if it is not nil, to remove everything else
// that belongs to the account. It deletes the stored entry last, so a repeated call still has all information.
func RevokeShownOnce(ctx context.Context, store Store, account string, keys ShownOnceKeys, rest func(context.Context) error) error {
	ids, err := ShownOnceIDs(ctx, store, account, keys)
	if err != nil {
		return err
	}
	if err := removeAll(ctx, ids, keys.Delete, rest); err != nil {
		return err
	}
	return forget(ctx, store, account)
}

// ShownOnceIDs returns the IDs of all keys of the account: those in the store, whether listed or not, and any others
// that are listed.
func ShownOnceIDs(ctx context.Context, store Store, account string, keys ShownOnceKeys) ([]string, error) {
	ids, err := StoredIDs(ctx, store, account)
	if err != nil {
		return nil, err
	}
	live, err := keys.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range live {
		if !slices.Contains(ids, key.ID) {
			ids = append(ids, key.ID)
		}
	}
	return ids, nil
}

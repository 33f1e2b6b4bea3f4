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

// ShownOnceKeys are the keys of one account at a backend that shows a secret only when it makes it,
// such as AWS IAM, HMAC keys of Google Cloud Storage, or a key API that takes no secret. The backend
// must have room for two keys of an account.
type ShownOnceKeys interface {
	// List returns all keys of the account. It may lag behind: keys that the store knows are removed whether they are
	// listed or not, and one that was made a moment ago need not be listed to be used.
	List(ctx context.Context) ([]ShownOnceKey, error)
	// Create makes a key. Its client must not try again by itself when a response is lost.
	Create(ctx context.Context) (Credential, error)
	// Delete removes a key. That there is none is no error.
	Delete(ctx context.Context, id string) error
}

// ShownOnceKey is a key without its secret.
type ShownOnceKey struct {
	ID string
	// Active is false if an administrator switched the key off.
	Active bool
}

// Young is how long a key need not be listed to be used: no list may lag longer.
const Young = 5 * time.Minute

// NoteMade is the note of an entry that says when the current key was made.
const NoteMade = "made"

// noteClaim is the note that claim changes.
const noteClaim = "claim"

// GrantShownOnce returns the credential of the account, and makes one only if there is none, if it
// was removed at the backend, or if the rotation differs from the last grant's. After a rotation
// exactly the previous credential keeps working.
//
// It keeps one promise: a credential is returned only after it is in the store. A key at the backend
// that is not in the store was therefore never delivered, and is removed. That holds for one store
// only, so the caller has made sure that the account carries the ID of this one.
//
// Two processes may grant one account at once, the former leader and the present one. Then at most one of them returns a
// credential, which works, and the other one gets Aborted.
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
			"key %s of account %s was made inactive at the store; activate it, or delete it to have a new one made", entry.Current.ID, request.Account)
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

// createShownOnce makes room for one key, makes it, stores it and returns it.
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

// claim writes the entry as it was read, but for a note, and returns it. Of two processes that have read the same entry
// only one can write it. So either another process has stored a key since, and this one must not remove it, or it cannot
// store its key any more, and will not deliver it. The note is random since Kubernetes gives an object no new version
// when nothing in it changes.
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

// split returns the keys that the entry holds, and the IDs of the others.
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

// RevokeShownOnce removes all keys of the account, then what else belongs to it (rest, which may be
// nil), and what is stored last, so that a repeated call still knows everything.
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

// ShownOnceIDs returns the IDs of all keys of the account: those that the store knows, whatever a list says, and those
// that are listed besides.
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

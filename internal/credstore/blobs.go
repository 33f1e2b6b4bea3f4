// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Blobs stores bytes by name. Implement it for storage that does not interpret entries. The methods are those of Store,
// with the same errors.
type Blobs interface {
	// ID is like Store.ID.
	ID(ctx context.Context) (string, error)
	// Get returns the stored blob, or an error that wraps ErrNotFound.
	Get(ctx context.Context, name string) (Blob, error)
	// Put writes data durably and returns the new version. The version has the same meaning as in Store.Put.
	Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error)
	// Delete removes a blob. It succeeds if there is none.
	Delete(ctx context.Context, name string) error
}

// Blob is one stored value.
type Blob struct {
	// Data is the content.
	Data cosi.Secret
	// Version has the same meaning as Entry.Version.
	Version string
	// Place is the location for messages, such as "secret x".
	Place string
}

// OnBlobs returns a Store that keeps its entries in blobs, by account ID and in the format of Encode.
func OnBlobs(blobs Blobs) Store { return entries{blobs} }

type entries struct{ blobs Blobs }

// ID implements Store.
func (e entries) ID(ctx context.Context) (string, error) { return e.blobs.ID(ctx) }

// Get implements Store.
func (e entries) Get(ctx context.Context, account string) (Entry, error) {
	blob, err := e.blobs.Get(ctx, account)
	if err != nil {
		return Entry{}, err
	}
	entry, err := Decode(account, []byte(blob.Data.Reveal()))
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w; restore the entry from a backup, or delete it so that the driver creates a new credential", blob.Place, err)
	}
	entry.Version = blob.Version
	return entry, nil
}

// Put implements Store.
func (e entries) Put(ctx context.Context, entry Entry) (Entry, error) {
	data, err := Encode(entry)
	if err != nil {
		return Entry{}, err
	}
	version, err := e.blobs.Put(ctx, entry.Account, cosi.NewSecret(string(data)), entry.Version)
	if err != nil {
		return Entry{}, err
	}
	stored := entry.clone()
	stored.Version = version
	return stored, nil
}

// Delete implements Store. It also removes a damaged entry, because it is called after the account was deleted.
func (e entries) Delete(ctx context.Context, account string) error {
	return e.blobs.Delete(ctx, account)
}

// NewID returns a new store ID: 128 random bits as 32 hexadecimal digits.
func NewID() string {
	var raw [16]byte
	// crypto/rand.Read never fails. It crashes the program if the system has no randomness.
	_, _ = rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

// NotFound returns an error that wraps ErrNotFound.
func NotFound(name string) error { return fmt.Errorf("account %q: %w", name, ErrNotFound) }

// Conflict returns an error that wraps ErrConflict.
func Conflict(name string) error { return fmt.Errorf("account %q: %w", name, ErrConflict) }

// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"fmt"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Blobs keep bytes by name: what a Store is where the place that keeps the entries need not know
// what is in them. The methods are those of Store, with its errors.
type Blobs interface {
	// ID is Store.ID.
	ID(ctx context.Context) (string, error)
	// Get returns what was put, or an error that wraps ErrNotFound.
	Get(ctx context.Context, name string) (Blob, error)
	// Put writes data durably and returns its version. The version is that of Store.Put.
	Put(ctx context.Context, name string, data cosi.Secret, version string) (string, error)
	// Delete removes it. That there is none is no error.
	Delete(ctx context.Context, name string) error
}

// Blob is what Blobs keep by one name.
type Blob struct {
	// Data is what was put.
	Data cosi.Secret
	// Version is that of an Entry.
	Version string
	// Place is where it is, for people, such as "secret x".
	Place string
}

// OnBlobs returns the Store whose entries are in blobs, by account and as Encode writes them.
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
		return Entry{}, fmt.Errorf("read %s: %w; restore it from a backup, or delete it to have a new credential issued", blob.Place, err)
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

// Delete implements Store. It removes a damaged entry too: it is called when the account is gone.
func (e entries) Delete(ctx context.Context, account string) error {
	return e.blobs.Delete(ctx, account)
}

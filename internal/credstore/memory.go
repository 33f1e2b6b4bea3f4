// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Memory is a Store in memory, for tests and for backends that need no store.
type Memory struct {
	Store

	blobs *MemoryBlobs
}

// NewMemory returns an empty store with a new ID.
func NewMemory() *Memory {
	blobs := NewMemoryBlobs()
	return &Memory{OnBlobs(blobs), blobs}
}

// Accounts returns the accounts that have an entry. Tests compare them with the backend's accounts.
func (m *Memory) Accounts() []string {
	m.blobs.mu.Lock()
	defer m.blobs.mu.Unlock()
	return slices.Collect(maps.Keys(m.blobs.blobs))
}

// MemoryBlobs implements Blobs in memory. Versions count the writes.
type MemoryBlobs struct {
	id string

	mu     sync.Mutex
	writes int
	blobs  map[string]Blob
}

// NewMemoryBlobs returns empty storage with a new ID.
func NewMemoryBlobs() *MemoryBlobs { return &MemoryBlobs{id: NewID(), blobs: map[string]Blob{}} }

// ID implements Blobs.
func (m *MemoryBlobs) ID(context.Context) (string, error) { return m.id, nil }

// Get implements Blobs.
func (m *MemoryBlobs) Get(_ context.Context, name string) (Blob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	blob, ok := m.blobs[name]
	if !ok {
		return Blob{}, NotFound(name)
	}
	return blob, nil
}

// Put implements Blobs.
func (m *MemoryBlobs) Put(_ context.Context, name string, data cosi.Secret, version string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs[name].Version != version {
		return "", Conflict(name)
	}
	m.writes++
	blob := Blob{Data: data, Version: strconv.Itoa(m.writes), Place: "memory"}
	m.blobs[name] = blob
	return blob.Version, nil
}

// Delete implements Blobs.
func (m *MemoryBlobs) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, name)
	return nil
}

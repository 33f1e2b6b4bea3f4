// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"maps"
	"strconv"
	"sync"
)

// Memory is a Store in memory: for tests, and for backends that need no store.
type Memory struct {
	id string

	mu      sync.Mutex
	writes  int
	entries map[string]Entry
}

// NewMemory returns an empty store with a new ID.
func NewMemory() *Memory {
	return &Memory{id: NewID(), entries: map[string]Entry{}}
}

// ID implements Store.
func (m *Memory) ID(context.Context) (string, error) { return m.id, nil }

// Get implements Store.
func (m *Memory) Get(_ context.Context, account string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.entries[account]
	if !ok {
		return Entry{}, notFound(account)
	}
	return entry.clone(), nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, entry Entry) (Entry, error) {
	if err := entry.validate(); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[entry.Account].Version != entry.Version {
		return Entry{}, conflict(entry.Account)
	}
	m.writes++
	entry = entry.clone()
	entry.Version = strconv.Itoa(m.writes)
	m.entries[entry.Account] = entry
	return entry.clone(), nil
}

// Delete implements Store.
func (m *Memory) Delete(_ context.Context, account string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, account)
	return nil
}

// Accounts returns the accounts that have an entry. Tests compare them with the backend's accounts.
func (m *Memory) Accounts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	accounts := make([]string, 0, len(m.entries))
	for account := range m.entries {
		accounts = append(accounts, account)
	}
	return accounts
}

// clone returns a deep copy, so that callers cannot modify the store's entries.
func (e Entry) clone() Entry {
	if e.Previous != nil {
		previous := *e.Previous
		e.Previous = &previous
	}
	e.Notes = maps.Clone(e.Notes)
	return e
}

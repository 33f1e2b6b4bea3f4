// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"maps"
	"strconv"
	"sync"
)

// Memory is a Store that ends with the process: for tests, and for backends that need no store.
type Memory struct {
	id string

	mu      sync.Mutex
	writes  int
	entries map[string]Entry
}

// NewMemory makes an empty store with an ID of its own.
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

// Accounts returns the accounts with an entry, for tests that compare inventories.
func (m *Memory) Accounts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	accounts := make([]string, 0, len(m.entries))
	for account := range m.entries {
		accounts = append(accounts, account)
	}
	return accounts
}

// clone keeps the store's entries out of the hands of its callers.
func (e Entry) clone() Entry {
	if e.Previous != nil {
		previous := *e.Previous
		e.Previous = &previous
	}
	e.Notes = maps.Clone(e.Notes)
	return e
}

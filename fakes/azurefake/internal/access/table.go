// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// table contains the directory's objects of one type by key, and stores each change in the journal.
type table[V any] struct {
	journal journal.Journal
	name    string

	mu   sync.RWMutex
	rows map[string]V
}

// load reads the table from the journal. Call it before the other methods.
func (t *table[V]) load() error {
	t.rows = map[string]V{}
	return journal.Load(t.journal, t.name, t.rows)
}

func (t *table[V]) get(key string) (V, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, ok := t.rows[key]
	return v, ok
}

// find returns an object that matches.
func (t *table[V]) find(match func(V) bool) (V, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, v := range t.rows {
		if match(v) {
			return v, true
		}
	}
	var none V
	return none, false
}

// sorted returns all objects, ordered by a name.
func (t *table[V]) sorted(name func(V) string) []V {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.rows), func(a, b V) int { return strings.Compare(name(a), name(b)) })
}

// put adds or replaces an object.
func (t *table[V]) put(key string, v V) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.store(key, v)
}

// store is put for callers that hold the lock.
func (t *table[V]) store(key string, v V) error {
	if err := journal.Save(t.journal, t.name, key, v); err != nil {
		return fmt.Errorf("store %s: %w", t.name, err)
	}
	t.rows[key] = v
	return nil
}

// change calls edit with an object and stores the result. It reports whether the object exists.
func (t *table[V]) change(key string, edit func(*V)) (v V, exists bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, exists = t.rows[key]; !exists {
		return v, false, nil
	}
	edit(&v)
	return v, true, t.store(key, v)
}

func (t *table[V]) remove(key string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.journal.Append(journal.Delete(t.name, key)); err != nil {
		return fmt.Errorf("delete %s: %w", t.name, err)
	}
	delete(t.rows, key)
	return nil
}

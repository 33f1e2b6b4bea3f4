// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
)

// Beginning is an in-memory journal that records writes until the first call and none after it, so that the initial
// state can be restored. A nil *Beginning records nothing.
type Beginning struct {
	over atomic.Bool

	mu  sync.Mutex
	was tables
}

// NewBeginning returns an empty one.
func NewBeginning() *Beginning { return &Beginning{was: tables{}} }

// Again ends the recording, and returns a journal that contains the recorded writes and records no more.
func (b *Beginning) Again() *Beginning {
	b.Call()
	b.mu.Lock()
	defer b.mu.Unlock()
	again := &Beginning{was: b.was}
	again.over.Store(true)
	return again
}

// Call ends the beginning.
func (b *Beginning) Call() {
	if b != nil && !b.over.Load() {
		b.over.Store(true)
	}
}

// Append implements Journal.
func (b *Beginning) Append(records ...Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over.Load() {
		b.was.apply(records)
	}
	return nil
}

// Table implements Journal.
func (b *Beginning) Table(name string) map[string]json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.was[name])
}

// Close implements Journal.
func (*Beginning) Close() error { return nil }

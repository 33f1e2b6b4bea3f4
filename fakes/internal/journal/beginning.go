// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
)

// Beginning is an in-memory journal of the initial state, so that the state can be restored. It records all writes
// before the first call and none after it. A nil *Beginning records nothing.
type Beginning struct {
	over atomic.Bool

	mu  sync.Mutex
	was tables
}

// NewBeginning returns an empty Beginning.
func NewBeginning() *Beginning { return &Beginning{was: tables{}} }

// Again ends the recording. It returns a journal that contains the recorded writes and does not record further
// writes.
func (b *Beginning) Again() *Beginning {
	b.Call()
	b.mu.Lock()
	defer b.mu.Unlock()
	again := &Beginning{was: b.was}
	again.over.Store(true)
	return again
}

// Call ends the recording.
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

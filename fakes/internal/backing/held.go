// SPDX-License-Identifier: Apache-2.0

package backing

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Held holds the state of a server. S is the type of the state, which is loaded from a Backing and loaded again by
// Reset. The zero value is closed.
type Held[S any] struct {
	options Options
	load    func(Backing) (*S, error)
	current atomic.Pointer[S]

	mu      sync.Mutex
	backing Backing
}

// Open opens a backing and loads the state from it.
func (h *Held[S]) Open(o Options, load func(Backing) (*S, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.options, h.load = o, load
	b, err := Open(o)
	if err != nil {
		return err
	}
	return h.take(b)
}

// take replaces the current state by the one loaded from a backing.
func (h *Held[S]) take(b Backing) error {
	next, err := h.load(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	old := h.backing
	h.backing = b
	h.current.Store(next)
	return old.Close()
}

// Load returns the current state.
func (h *Held[S]) Load() *S { return h.current.Load() }

// Reset restores the state before the first call. Calls in progress continue with the old state and may fail.
func (h *Held[S]) Reset() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backing.beginning == nil {
		return errors.New("only a server with data in memory can be reset, not one with a data directory (Options.Dir)")
	}
	b, err := open(h.options, h.backing.beginning.Again())
	if err != nil {
		return err
	}
	return h.take(b)
}

// Close releases all resources. Data in Options.Dir is kept.
func (h *Held[S]) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.backing.Close()
}

// SPDX-License-Identifier: Apache-2.0

package backing

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Held is what a server makes of its backing, an S, and makes anew for Reset. The zero value is closed.
type Held[S any] struct {
	options Options
	load    func(Backing) (*S, error)
	current atomic.Pointer[S]

	mu      sync.Mutex
	backing Backing
}

// Open opens a backing and loads what it describes.
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

// take puts what a backing describes in the place of what is held.
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

// Load returns what is held at the moment.
func (h *Held[S]) Load() *S { return h.current.Load() }

// Reset makes everything as it was before the first call. Calls that are in progress work on what was before, and may
// fail.
func (h *Held[S]) Reset() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backing.beginning == nil {
		return errors.New("only what is kept in memory can be reset: a data directory, or Options.Dir, keeps everything")
	}
	b, err := open(h.options, h.backing.beginning.Again())
	if err != nil {
		return err
	}
	return h.take(b)
}

// Close releases everything but what is in Options.Dir.
func (h *Held[S]) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.backing.Close()
}

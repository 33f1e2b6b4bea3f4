// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Ref identifies the entry under one name of a container.
type Ref struct{ Account, Container, Name string }

// Change is an entry that a callback edits. The callback may set its fields, but must not modify the values that they
// point to.
type Change struct {
	Entry
	// Container is the container of the entry.
	Container Container

	add   []Block
	clear bool
}

// AddBlock adds an uncommitted block, or replaces the one with the same ID.
func (c *Change) AddBlock(b Block) { c.add = append(c.add, b) }

// ClearBlocks removes the uncommitted blocks that existed before the change.
func (c *Change) ClearBlocks() { c.clear = true }

// View calls view with an entry, which is empty if nothing exists under the name.
func (s *Store) View(ref Ref, view func(*Entry) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, err := s.live(ref.Account, ref.Container)
	if err != nil {
		return err
	}
	e := h.entry(ref.Name)
	if e == nil {
		e = &Entry{Name: ref.Name}
	}
	return view(e.at(s.options.Now()))
}

// Change calls change to edit an entry and stores the result unless it returns an error. Bodies that are no longer
// referenced are removed.
func (s *Store) Change(ref Ref, change func(*Change) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.live(ref.Account, ref.Container)
	if err != nil {
		return err
	}
	if err := s.purge(h); err != nil {
		return err
	}
	before := h.entry(ref.Name)
	if before == nil {
		before = &Entry{Name: ref.Name}
	}
	c := &Change{Entry: *before.at(s.options.Now()), Container: h.Container}
	c.Versions, c.Snapshots = slices.Clone(before.Versions), slices.Clone(before.Snapshots)
	c.Deleted = slices.Clone(c.Deleted)
	if err := change(c); err != nil {
		return err
	}
	if err := s.record(key(ref.Account, ref.Container)+sep+ref.Name, before, c); err != nil {
		return err
	}
	s.settle(h, before, c)
	return nil
}

// record writes the change to the journal.
func (s *Store) record(k string, before *Entry, c *Change) error {
	write := journal.Begin(s.options.Journal)
	if c.clear {
		for id := range before.uncommitted {
			write.Delete(tableBlocks, k+sep+id)
		}
	}
	for _, b := range c.add {
		write.Put(tableBlocks, k+sep+b.ID, b)
	}
	switch {
	case len(c.add) > 0 && before.Current == c.Current:
		// A staged block does not change the entry, which may be large.
	case len(c.states()) == 0:
		write.Delete(tableEntries, k)
	default:
		write.Put(tableEntries, k, c.Entry)
	}
	if err := write.Commit(); err != nil {
		return fmt.Errorf("store a blob: %w", err)
	}
	return nil
}

// settle makes the change visible.
func (s *Store) settle(h *holder, before *Entry, c *Change) {
	var gone []blob.ID
	for _, b := range c.add {
		if old, ok := before.uncommitted[b.ID]; ok && !c.clear {
			gone = append(gone, old.Body)
		}
	}
	var old map[blob.ID]bool
	if len(c.add) == 0 {
		old = before.bodies()
	}
	next := &c.Entry
	if c.clear {
		next.uncommitted = nil
	}
	for _, b := range c.add {
		next.addBlock(b)
	}
	if len(next.states()) == 0 && !next.HasUncommitted() {
		h.entries.Delete(next)
	} else {
		h.entries.ReplaceOrInsert(next)
		h.expireWith(next)
	}
	if old != nil {
		now := next.bodies()
		for id := range old {
			if !now[id] {
				gone = append(gone, id)
			}
		}
	}
	s.options.Bodies.Delete(gone...)
}

// Walk calls show for the entries of a container in the order of their names, until show returns false. It starts at
// the name from and includes only names with the prefix.
func (s *Store) Walk(account, container, prefix, from string, show func(*Entry) bool) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, err := s.live(account, container)
	if err != nil {
		return err
	}
	now := s.options.Now()
	h.entries.AscendGreaterOrEqual(&Entry{Name: max(prefix, from)}, func(e *Entry) bool {
		return strings.HasPrefix(e.Name, prefix) && show(e.at(now))
	})
	return nil
}

// Pin keeps the bodies of a blob readable until the returned function is called.
func (s *Store) Pin(b *Blob) func() {
	ids := make([]blob.ID, 0, len(b.Blocks))
	for _, block := range b.Blocks {
		if block.Body != "" {
			ids = append(ids, block.Body)
		}
	}
	s.options.Bodies.Pin(ids...)
	return func() { s.options.Bodies.Unpin(ids...) }
}

// Read writes length bytes of a pinned blob to w, starting at offset.
func (s *Store) Read(w io.Writer, b *Blob, offset, length int64) error {
	for _, block := range b.Blocks {
		if length == 0 {
			return nil
		}
		if offset >= block.Size {
			offset -= block.Size
			continue
		}
		n := min(length, block.Size-offset)
		if err := s.readBlock(w, block, offset, n); err != nil {
			return fmt.Errorf("read a blob: %w", err)
		}
		offset, length = 0, length-n
	}
	return nil
}

// NewBody returns a writer for a new body.
func (s *Store) NewBody() *blob.Writer { return s.options.Bodies.Create() }

// Discard removes bodies that no blob refers to. It ignores the ID "".
func (s *Store) Discard(ids ...blob.ID) {
	s.options.Bodies.Delete(slices.DeleteFunc(ids, func(id blob.ID) bool { return id == "" })...)
}

// NewETag returns a random ETag.
func NewETag() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return "0x8" + strings.ToUpper(hex.EncodeToString(b[:]))[:14]
}

// Stamp is the format of the times that identify versions and snapshots.
const Stamp = "2006-01-02T15:04:05.0000000Z"

// StampOf returns a time in the format Stamp, or "" for the zero time.
func StampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(Stamp)
}

// NextStamp returns a stamp for the given time that is later than the stamps of all versions and snapshots of the
// entry.
func (e *Entry) NextStamp(now time.Time) string {
	stamp := now.UTC().Format(Stamp)
	for _, b := range e.states() {
		for _, used := range []string{b.Version, b.Snapshot} {
			for used != "" && stamp <= used {
				t, err := time.Parse(Stamp, used)
				if err != nil {
					break
				}
				stamp = t.Add(100 * time.Nanosecond).Format(Stamp)
			}
		}
	}
	return stamp
}

// CloneMap returns a copy of a map, or nil if the map is empty.
func CloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

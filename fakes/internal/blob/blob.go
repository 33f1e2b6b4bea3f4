// SPDX-License-Identifier: Apache-2.0

// Package blob stores the bodies of objects and parts in files, each under a random ID. Stored bodies are not on the
// heap, so the heap stays small regardless of the size of uploads. Small bodies share one file, which does not
// outlive the process; other bodies have separate files. The package does not depend on buckets, keys and versions.
package blob

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// ID identifies a body.
type ID string

// NewID returns a random ID.
func NewID() ID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return ID(hex.EncodeToString(b[:]))
}

// Store stores bodies.
type Store struct {
	dir string
	// small contains the bodies of up to threshold bytes. It is nil if each body has a separate file.
	small     *slots
	threshold int64
	buffers   *sync.Pool
	// view means that the store does not delete bodies.
	view bool

	mu     sync.Mutex
	pins   map[ID]int
	doomed map[ID]bool
}

// New returns a store with its files in dir. Bodies of up to threshold bytes share one file, which does not outlive
// the process. If threshold is 0, each body has a separate file that outlives the process.
func New(dir string, threshold int64) (*Store, error) {
	for _, sub := range []string{"bodies", "incoming"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("create the directory for bodies: %w", err)
		}
	}
	s := &Store{
		dir: dir, threshold: threshold, pins: map[ID]int{}, doomed: map[ID]bool{},
		buffers: &sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	if threshold == 0 {
		return s, nil
	}
	var err error
	s.small, err = newSlots(dir)
	return s, err
}

// View returns a store that reads the same bodies and deletes none. It does not need to be closed.
func (s *Store) View() *Store {
	return &Store{
		dir: s.dir, small: s.small, threshold: s.threshold, buffers: s.buffers, view: true,
		pins: map[ID]int{}, doomed: map[ID]bool{},
	}
}

// Close releases the file of the small bodies.
func (s *Store) Close() error {
	if s.small == nil {
		return nil
	}
	if err := s.small.file.Close(); err != nil {
		return fmt.Errorf("close the file of small bodies: %w", err)
	}
	return nil
}

func (s *Store) path(id ID) string {
	return filepath.Join(s.dir, "bodies", string(id[:2]), string(id))
}

// Writer writes one body. End it with either Commit or Abort.
type Writer struct {
	store *Store
	buf   *bytes.Buffer
	file  *os.File
	size  int64
}

// Create returns a writer for a new body.
func (s *Store) Create() *Writer {
	w := &Writer{store: s}
	if s.threshold > 0 {
		w.buf = s.buffer()
	}
	return w
}

// buffer returns an empty one, for release.
func (s *Store) buffer() *bytes.Buffer {
	b := s.buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

// release gives a buffer back, unless it has grown large.
func (s *Store) release(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		s.buffers.Put(b)
	}
}

// Size returns the number of bytes written so far.
func (w *Writer) Size() int64 { return w.size }

// Write implements io.Writer. When the body exceeds the threshold, Write moves it to a file.
func (w *Writer) Write(p []byte) (int, error) {
	if w.file == nil && (w.buf == nil || w.size+int64(len(p)) > w.store.threshold) {
		if err := w.spill(); err != nil {
			return 0, err
		}
	}
	w.size += int64(len(p))
	if w.file == nil {
		return w.buf.Write(p)
	}
	n, err := w.file.Write(p)
	if err != nil {
		return n, fmt.Errorf("write a body: %w", err)
	}
	return n, nil
}

func (w *Writer) spill() error {
	f, err := os.CreateTemp(filepath.Join(w.store.dir, "incoming"), "body-*")
	if err != nil {
		return fmt.Errorf("create a file for a body: %w", err)
	}
	w.file = f
	if w.buf != nil {
		_, err = f.Write(w.buf.Bytes())
		w.release()
	}
	if err != nil {
		return fmt.Errorf("write a body: %w", err)
	}
	return nil
}

func (w *Writer) release() {
	if w.buf != nil {
		w.store.release(w.buf)
	}
	w.buf = nil
}

// Commit stores the body and returns its ID.
func (w *Writer) Commit() (ID, error) {
	id := NewID()
	if w.file == nil && w.buf != nil {
		defer w.release()
		return id, w.store.small.put(id, w.buf.Bytes())
	}
	if w.file == nil {
		if err := w.spill(); err != nil {
			return "", err
		}
	}
	path := w.store.path(id)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = w.file.Close()
	}
	if err == nil {
		err = os.Rename(w.file.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("store a body: %w", err)
	}
	return id, nil
}

// Abort discards the body.
func (w *Writer) Abort() error {
	w.release()
	if w.file == nil {
		return nil
	}
	if err := errors.Join(w.file.Close(), os.Remove(w.file.Name())); err != nil {
		return fmt.Errorf("discard a body: %w", err)
	}
	return nil
}

// Pin keeps bodies readable until Unpin, even if they are deleted in the meantime.
func (s *Store) Pin(ids ...ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.pins[id]++
	}
}

// Unpin ends a Pin and removes bodies that were deleted in the meantime.
func (s *Store) Unpin(ids ...ID) {
	s.mu.Lock()
	var gone []ID
	for _, id := range ids {
		if s.pins[id]--; s.pins[id] > 0 {
			continue
		}
		delete(s.pins, id)
		if s.doomed[id] {
			delete(s.doomed, id)
			gone = append(gone, id)
		}
	}
	s.mu.Unlock()
	for _, id := range gone {
		s.remove(id)
	}
}

// Delete deletes bodies. A pinned body is deleted when it is unpinned. If a file cannot be deleted, Sweep deletes it
// later.
func (s *Store) Delete(ids ...ID) {
	for _, id := range ids {
		s.mu.Lock()
		pinned := s.pins[id] > 0
		if pinned {
			s.doomed[id] = true
		}
		s.mu.Unlock()
		if !pinned {
			s.remove(id)
		}
	}
}

func (s *Store) remove(id ID) {
	if s.view {
		return
	}
	if s.small != nil && s.small.remove(id) {
		return
	}
	_ = os.Remove(s.path(id)) // left for Sweep
}

// Read writes length bytes of the body from offset to w.
func (s *Store) Read(w io.Writer, id ID, offset, length int64) error {
	if length == 0 {
		return nil
	}
	if s.small != nil {
		if ok, err := s.readSmall(w, id, offset, length); ok || err != nil {
			return err
		}
	}
	f, err := os.Open(s.path(id))
	if err != nil {
		return fmt.Errorf("open a body: %w", err)
	}
	_, err = f.Seek(offset, io.SeekStart)
	if err == nil {
		_, err = io.CopyN(w, f, length)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read a body: %w", err)
	}
	return nil
}

func (s *Store) readSmall(w io.Writer, id ID, offset, length int64) (ok bool, err error) {
	b := s.buffer()
	defer s.release(b)
	if ok, err := s.small.get(b, id, offset, length); !ok || err != nil {
		return ok, err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return true, fmt.Errorf("send a body: %w", err)
	}
	return true, nil
}

// Sweep deletes files that a killed process left behind: incomplete files, and the files of bodies for which keep
// returns false.
func (s *Store) Sweep(keep func(ID) bool) error {
	if s.view {
		return nil
	}
	incoming, err := filepath.Glob(filepath.Join(s.dir, "incoming", "*"))
	if err != nil {
		return fmt.Errorf("list unfinished bodies: %w", err)
	}
	bodies, err := filepath.Glob(filepath.Join(s.dir, "bodies", "*", "*"))
	if err != nil {
		return fmt.Errorf("list bodies: %w", err)
	}
	for _, path := range bodies {
		if !keep(ID(filepath.Base(path))) {
			incoming = append(incoming, path)
		}
	}
	for _, path := range incoming {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an orphaned body: %w", err)
		}
	}
	return nil
}

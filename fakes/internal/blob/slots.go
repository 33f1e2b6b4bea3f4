// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
)

// slots stores small bodies in one unnamed file, which is removed with the process. The operating system keeps the
// file in memory as long as there is room. On the Go heap the bodies would need twice the memory, because the heap
// grows to twice its used size before garbage collection.
//
// The slot of a body has the size of the next power of two and is reused. The unused part of a slot takes no space.
type slots struct {
	file *os.File

	mu     sync.RWMutex
	bodies map[ID]slot
	// free are the offsets of places by their length.
	free map[int64][]int64
	// end is the end of the allocated area, and used the number of slots in use in it.
	end  int64
	used int
}

// slot is the place of a body.
type slot struct{ offset, size int64 }

// minPlace is the length of the shortest place.
const minPlace = int64(16)

// place is the length of the place for a body.
func place(size int64) int64 {
	return max(minPlace, int64(1)<<bits.Len64(uint64(max(size, 1)-1)))
}

// newSlots creates the file in dir.
func newSlots(dir string) (*slots, error) {
	f, err := os.CreateTemp(dir, "small-*")
	if err != nil {
		return nil, fmt.Errorf("create a file for small bodies: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("create a file for small bodies: %w", err), f.Close())
	}
	return &slots{file: f, bodies: map[ID]slot{}, free: map[int64][]int64{}}, nil
}

// put stores a copy of body. Its slot is reserved until the copy is complete.
func (s *slots) put(id ID, body []byte) error {
	at := slot{s.take(int64(len(body))), int64(len(body))}
	_, err := s.file.WriteAt(body, at.offset)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return errors.Join(fmt.Errorf("write a body: %w", err), s.give(at))
	}
	s.bodies[id] = at
	return nil
}

// take returns the offset of a place.
func (s *slots) take(size int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	length := place(size)
	if free := s.free[length]; len(free) > 0 {
		s.free[length] = free[:len(free)-1]
		return free[len(free)-1]
	}
	s.end += length
	return s.end - length
}

// give frees a slot. If it was the last one, the file is emptied. The caller holds the lock.
func (s *slots) give(at slot) error {
	if s.used--; s.used > 0 {
		length := place(at.size)
		s.free[length] = append(s.free[length], at.offset)
		return nil
	}
	s.end = 0
	clear(s.free)
	if err := s.file.Truncate(0); err != nil {
		return fmt.Errorf("truncate the file of small bodies: %w", err)
	}
	return nil
}

// get appends length bytes of a body from offset to into; ok is false if the ID is not stored here. The slot cannot
// be reused during the read.
func (s *slots) get(into *bytes.Buffer, id ID, offset, length int64) (ok bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.bodies[id]
	if !ok {
		return false, nil
	}
	if offset+length > at.size {
		return true, fmt.Errorf("read a body: %d bytes from offset %d exceed its size of %d", length, offset, at.size)
	}
	into.Grow(int(length))
	part := into.AvailableBuffer()[:length]
	if _, err := s.file.ReadAt(part, at.offset+offset); err != nil {
		return true, fmt.Errorf("read a body: %w", err)
	}
	_, _ = into.Write(part) // it is there already, and a buffer never fails
	return true, nil
}

// remove reports whether the body was here.
func (s *slots) remove(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.bodies[id]
	if ok {
		delete(s.bodies, id)
		_ = s.give(at) // nothing is lost: a slot that is not emptied is overwritten
	}
	return ok
}

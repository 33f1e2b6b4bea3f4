// SPDX-License-Identifier: Apache-2.0

package blob_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// threshold of the stores in these tests.
const threshold = 64 << 10

func newStore(tb testing.TB) (*blob.Store, string) {
	tb.Helper()
	dir := tb.TempDir()
	s, err := blob.New(dir, threshold)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, dir
}

// pattern is a body that no other seed has.
func pattern(size, seed int) []byte {
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(i*7 + seed)
	}
	return body
}

func keep(tb testing.TB, s *blob.Store, body []byte) blob.ID {
	tb.Helper()
	w := s.Create()
	if _, err := w.Write(body); err != nil {
		tb.Fatal(err)
	}
	id, err := w.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func read(tb testing.TB, s *blob.Store, id blob.ID, offset, length int64) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := s.Read(&out, id, offset, length); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// files are those that have a name below dir.
func files(tb testing.TB, dir string) int {
	tb.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestBodiesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{
		"one byte": 1, "a short place": 16, "more than that": 17, "a page": 4 << 10, "a page and a byte": 4<<10 + 1,
		"the threshold": threshold, "a file of its own": threshold + 1, "nothing": 0,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t)
			before, body := keep(t, s, pattern(size, 1)), pattern(size, 2)
			id := keep(t, s, body)
			keep(t, s, pattern(size, 3))
			if got := read(t, s, id, 0, int64(size)); !bytes.Equal(got, body) {
				t.Errorf("a body of %d bytes is another one", size)
			}
			if got, want := read(t, s.View(), id, int64(size/3), int64(size/2)), body[size/3:size/3+size/2]; !bytes.Equal(got, want) {
				t.Errorf("a range of %d bytes is another one", size)
			}
			if got, own := files(t, dir) > 0, size > threshold; got != own {
				t.Errorf("with a file of its own: %v, want %v", got, own)
			}
			s.View().Delete(before)
			read(t, s, before, 0, int64(size))
		})
	}
}

// TestPlacesAreUsedAgain reuses the slots of deleted bodies: a body that a reader has pinned must not be overwritten.
func TestPlacesAreUsedAgain(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	pinned, gone, stays := keep(t, s, pattern(4096, 1)), keep(t, s, pattern(4096, 2)), keep(t, s, pattern(4096, 3))
	s.Pin(pinned)
	s.Delete(pinned, gone)
	if err := s.Read(io.Discard, gone, 0, 1); err == nil {
		t.Error("a deleted body is still there")
	}
	next := []blob.ID{keep(t, s, pattern(4095, 4)), keep(t, s, pattern(4000, 5))}
	for id, want := range map[blob.ID][]byte{
		pinned: pattern(4096, 1), stays: pattern(4096, 3), next[0]: pattern(4095, 4), next[1]: pattern(4000, 5),
	} {
		if got := read(t, s, id, 0, int64(len(want))); !bytes.Equal(got, want) {
			t.Error("a body was written over")
		}
	}
	s.Unpin(pinned)
	if err := s.Read(io.Discard, pinned, 0, 1); err == nil {
		t.Error("a deleted body outlives its pin")
	}
	if err := s.Read(io.Discard, next[0], 4000, 96); err == nil {
		t.Error("what is behind a body can be read")
	}
	s.Delete(append(next, stays)...)
	id := keep(t, s, pattern(100, 6))
	if got := read(t, s, id, 0, 100); !bytes.Equal(got, pattern(100, 6)) {
		t.Error("the first body after the last was deleted is another one")
	}
}

// TestConcurrentBodies writes, reads and deletes concurrently, so that slots are reused.
func TestConcurrentBodies(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for worker := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for n := range 200 {
				body := pattern(1+(n*37)%5000, worker*200+n)
				id := keep(t, s, body)
				if got := read(t, s, id, 0, int64(len(body))); !bytes.Equal(got, body) {
					t.Error("a body is another one")
				}
				s.Delete(id)
			}
		})
	}
}

// BenchmarkKeep keeps, reads and deletes a body of 4 KiB.
func BenchmarkKeep(b *testing.B) {
	s, _ := newStore(b)
	body := pattern(4<<10, 1)
	b.ReportAllocs()
	for b.Loop() {
		id := keep(b, s, body)
		if err := s.Read(io.Discard, id, 0, int64(len(body))); err != nil {
			b.Fatal(err)
		}
		s.Delete(id)
	}
}

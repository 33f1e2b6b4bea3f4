// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// FuzzPages writes, clears and resizes pages and compares the blob with an array of bytes, and its changes with those of
// the array. The pages are single bytes.
func FuzzPages(f *testing.F) {
	f.Add([]byte{0, 2, 3, 0, 4, 2, 1, 3, 2, 3, 0, 0})
	f.Add([]byte{0, 0, 9, 1, 2, 2, 0, 3, 1, 2, 4, 0, 2, 12, 0, 0, 7, 5})
	bodies, err := blob.New(f.TempDir(), 1<<10)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = bodies.Close() }) // the file is temporary
	s, err := store.New(store.Options{Journal: journal.Discard{}, Bodies: bodies, Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		steps = steps[:min(len(steps), 3*255)] // so that each write has its own byte
		b := &store.Blob{Type: store.PageBlob, Size: 8}
		b.Blocks = (&store.Blob{}).Resized(b.Size)
		model, before, earlier := make([]byte, 8), make([]byte, 8), *b
		for i, next := 0, byte(1); i+3 <= len(steps); i, next = i+3, next+1 {
			offset, length := min(int64(steps[i+1]%16), b.Size), int64(steps[i+2]%8)
			length = min(length, b.Size-offset)
			changed, err := *b, error(nil)
			switch steps[i] % 4 {
			case 0:
				changed.Blocks, err = b.WithPages(offset, length, body(t, s, bytes.Repeat([]byte{next}, int(length))))
				copy(model[offset:], bytes.Repeat([]byte{next}, int(length)))
			case 1:
				changed.Blocks, err = b.WithPages(offset, length, "")
				clear(model[offset : offset+length])
			case 2:
				size := int64(steps[i+1] % 16)
				changed.Blocks, changed.Size = b.Resized(size), size
				model = append(model[:min(size, b.Size)], make([]byte, max(0, size-b.Size))...)
			case 3:
				earlier, before = *b, slices.Clone(model)
			}
			wantNoError(t, err)
			b = &changed
		}
		var got bytes.Buffer
		wantNoError(t, s.Read(&got, b, 0, b.Size))
		if !bytes.Equal(got.Bytes(), model) {
			t.Errorf("after %v: the blob has %v, want %v", steps, got.Bytes(), model)
		}
		wantRanges(t, b.Ranges(0, b.Size, nil), make([]byte, len(model)), model)
		wantRanges(t, b.Ranges(0, b.Size, &earlier), before, model)
		if from := b.Size / 2; from > 0 {
			wantRanges(t, b.Ranges(from, b.Size, nil), make([]byte, len(model)), append(make([]byte, from), model[from:]...))
		}
	})
}

// TestPageRangesAreLimited writes to a page blob in which every second page is written, up to the limit.
func TestPageRangesAreLimited(t *testing.T) {
	t.Parallel()
	const limit = 50000
	b := &store.Blob{Type: store.PageBlob}
	for range limit / 2 {
		b.Blocks = append(b.Blocks, store.Block{Body: "a", Size: 1}, store.Block{Size: 1})
	}
	b.Blocks[limit-1].Size = 2 // after it, a write divides cleared pages
	b.Size = limit + 1
	for name, write := range map[string]struct {
		offset int64
		body   blob.ID
		want   int
	}{
		"a page is written again":          {0, "b", limit},
		"a page between others is cleared": {2, "", limit - 2},
		"a page is written between others": {1, "b", limit},
		"a write adds a range":             {limit - 1, "b", 0},
	} {
		blocks, err := b.WithPages(write.offset, 1, write.body)
		var refused *azerr.Error
		if errors.As(err, &refused) != (write.want == 0) || len(blocks) != write.want || refused != nil && refused.Code != "BlockCountExceedsLimit" {
			t.Errorf("%s: %d blocks, %v; want %d", name, len(blocks), err, write.want)
		}
	}
}

// wantRanges expects that the ranges are the differences between two contents.
func wantRanges(t *testing.T, ranges []store.PageRange, before, after []byte) {
	t.Helper()
	before = append(before[:min(len(before), len(after)):len(before)], make([]byte, max(0, len(after)-len(before)))...)
	differs, last := make([]bool, len(after)), int64(0)
	for _, r := range ranges {
		if r.Start < last || r.End <= r.Start {
			t.Fatalf("the ranges %v are not in order", ranges)
		}
		last = r.End
		for i := r.Start; i < r.End; i++ {
			differs[i] = true
			if r.Cleared != (after[i] == 0) {
				t.Errorf("cleared is %v at %d of %v", r.Cleared, i, after)
			}
		}
	}
	for i := range after {
		if differs[i] != (before[i] != after[i]) {
			t.Errorf("%v: from %v to %v, the difference at %d is %v", ranges, before, after, i, differs[i])
		}
	}
}

func body(t *testing.T, s *store.Store, content []byte) blob.ID {
	t.Helper()
	w := s.NewBody()
	_, err := w.Write(content)
	wantNoError(t, err)
	id, err := w.Commit()
	wantNoError(t, err)
	return id
}

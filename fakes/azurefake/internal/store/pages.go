// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// zeros reads zeros without end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (s *Store) readBlock(w io.Writer, b Block, offset, length int64) error {
	if b.Body == "" {
		_, err := io.CopyN(w, zeros{}, length)
		return err
	}
	return s.options.Bodies.Read(w, b.Body, b.Skip+offset, length)
}

// maxRuns is how many blocks the writes of pages can create in a blob. Each write records all blocks in the journal.
const maxRuns = 50000

var errRuns = azerr.New(http.StatusConflict, "BlockCountExceedsLimit", "This fake supports at most 50,000 written and cleared ranges in a page blob.")

// WithPages returns the blocks of a page blob after a write of pages. An empty body clears them. It returns an error if the
// write exceeds the number of blocks in a page blob.
func (b *Blob) WithPages(offset, length int64, body blob.ID) ([]Block, error) {
	out := b.Pages(0, offset)
	out = addPages(out, Block{Body: body, Size: length})
	for _, block := range b.Pages(offset+length, b.Size) {
		out = addPages(out, block)
	}
	if len(out) > max(maxRuns, len(b.Blocks)) {
		return nil, errRuns
	}
	return out, nil
}

// Resized returns the blocks of a page blob with another size.
func (b *Blob) Resized(size int64) []Block {
	out := b.Pages(0, min(size, b.Size))
	return addPages(out, Block{Size: max(0, size-b.Size)})
}

// Pages returns the blocks of a part of the blob. The first and the last block are shortened to the part.
func (b *Blob) Pages(begin, end int64) []Block {
	var out []Block
	var offset int64
	for _, block := range b.Blocks {
		from, to := max(begin-offset, 0), min(end-offset, block.Size)
		offset += block.Size
		if from < to {
			block = block.from(from)
			block.Size = to - from
			out = append(out, block)
		}
	}
	return out
}

// addPages appends a block. Adjacent pages without a body become one block.
func addPages(blocks []Block, b Block) []Block {
	last := len(blocks) - 1
	switch {
	case b.Size == 0:
	case b.Body == "" && last >= 0 && blocks[last].Body == "":
		blocks[last].Size += b.Size
	default:
		blocks = append(blocks, b)
	}
	return blocks
}

// PageRange is a range of a page blob, from Start to before End. Cleared means that its pages have no body.
type PageRange struct {
	Start, End int64
	Cleared    bool
}

// Ranges returns the ranges of pages with a body in a part of the blob. If before is an earlier state, it returns the
// ranges that differ from that state, including cleared ones. Ranges that different calls wrote are separate.
func (b *Blob) Ranges(begin, end int64, before *Blob) []PageRange {
	was := []Block{{Size: end - begin}}
	if before != nil {
		was = (&Blob{Blocks: before.Resized(b.Size), Size: b.Size}).Pages(begin, end)
	}
	var out []PageRange
	offset := begin
	for _, block := range b.Pages(begin, end) {
		first := len(out)
		for block.Size > 0 {
			n := min(block.Size, was[0].Size)
			last := len(out) - 1
			switch {
			case block.Body == was[0].Body && block.Skip == was[0].Skip:
			case last >= first && out[last].End == offset:
				out[last].End += n
			default:
				out = append(out, PageRange{offset, offset + n, block.Body == ""})
			}
			offset, block = offset+n, block.from(n)
			if was[0] = was[0].from(n); was[0].Size == 0 {
				was = was[1:]
			}
		}
	}
	return out
}

// from returns the rest of a block from an offset.
func (b Block) from(offset int64) Block {
	if b.Body != "" {
		b.Skip += offset
	}
	b.Size -= offset
	return b
}

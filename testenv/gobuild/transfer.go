// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"fmt"
	"strings"
)

const (
	megabyte = 1_000_000
	// barWidth is the number of characters between the brackets of a bar.
	barWidth = 30
)

// Transfer is a writer that shows the progress of a download, on a terminal with a bar. It discards the data.
type Transfer struct {
	task       *task
	size, done int64
}

// StartTransfer adds a download to p. The size is in bytes; 0 means unknown. The caller must call End.
func (p *Progress) StartTransfer(name string, size int64) *Transfer {
	return &Transfer{task: p.start(name), size: size}
}

// Write implements io.Writer.
func (t *Transfer) Write(content []byte) (int, error) {
	t.done += int64(len(content))
	t.task.set("%s", t.state())
	return len(content), nil
}

// End removes the download from the display and writes a last line that depends on err.
func (t *Transfer) End(err error) {
	if err != nil {
		t.task.end("failed after %d MB", t.done/megabyte)
		return
	}
	t.task.end("%d MB", t.done/megabyte)
}

func (t *Transfer) state() string {
	if t.size <= 0 {
		return fmt.Sprintf("%d MB", t.done/megabyte)
	}
	state := fmt.Sprintf("%d of %d MB", t.done/megabyte, t.size/megabyte)
	if p := t.task.progress; p == nil || !p.terminal {
		return state
	}
	full := int(barWidth * min(t.done, t.size) / t.size)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "] " + state
}

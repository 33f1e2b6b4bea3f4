// SPDX-License-Identifier: Apache-2.0

package docstest

import (
	"fmt"
	"regexp"
	"strings"
)

// BlockKind determines how a block is used.
type BlockKind string

// The kinds of blocks. A comment on the line before the fence sets the kind, except for Run and Output, which are
// recognized by their language.
const (
	// Run is a block in the language sh. It runs in the page's shell, in order.
	Run BlockKind = "run"
	// Until is a block marked `<!-- run until: text -->`. It is started in the background, and the script waits until
	// it has printed the text. At the end of the page it gets a Ctrl-C and must exit.
	Until BlockKind = "run until"
	// File is a block marked `<!-- file: name -->`. It is written to that file in the page's working directory,
	// $PAGE_DIR.
	File BlockKind = "file"
	// Output is a block in the language text or output. It shows the output of a command.
	Output BlockKind = "output"
	// RunWith is a block marked `<!-- run with: program -->`. A test runs it if the program is available. Script omits
	// it.
	RunWith BlockKind = "run with"
	// NotRun is a block marked `<!-- not run: reason -->`.
	NotRun BlockKind = "not run"
)

// Block is one fenced block.
type Block struct {
	Page     string // the page's name, for messages
	Line     int    // line number of the opening fence, from 1
	Language string
	Text     string // with a final newline
	Kind     BlockKind
	// Argument is the text to wait for, the program, the file name or the reason.
	Argument string
}

var (
	fence = regexp.MustCompile("^ {0,3}(```+|~~~+) *([A-Za-z0-9_-]*)(.*)$")
	mark  = regexp.MustCompile(`^<!-- *(run until|run with|file|not run): *(.*?) *-->$`)
)

// ParseBlocks returns the blocks of a page, or an error with the line number of the first block that is not closed or
// not marked.
func ParseBlocks(page, markdown string) ([]Block, error) {
	var (
		blocks  []Block
		current *Block
		closing string
		before  string // the last line with text outside of blocks
	)
	for i, line := range strings.Split(markdown, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case current == nil && match != nil:
			closing = match[1]
			current = &Block{Page: page, Line: i + 1, Language: match[2]}
			if err := current.classify(before); err != nil {
				return nil, err
			}
		case current != nil && match != nil && match[1] == closing && match[2] == "":
			blocks = append(blocks, *current)
			current, before = nil, ""
		case current != nil:
			current.Text += line + "\n"
		case strings.TrimSpace(line) != "":
			before = strings.TrimSpace(line)
		}
	}
	if current != nil {
		return nil, fmt.Errorf("%s:%d: the block is not closed", page, current.Line)
	}
	return blocks, nil
}

func (b *Block) classify(before string) error {
	if match := mark.FindStringSubmatch(before); match != nil {
		b.Kind, b.Argument = BlockKind(match[1]), match[2]
		if b.Argument == "" {
			return fmt.Errorf("%s:%d: the mark %q needs a value after the colon", b.Page, b.Line, before)
		}
		return nil
	}
	switch b.Language {
	case "sh":
		b.Kind = Run
	case "text", "output":
		b.Kind = Output
	default:
		return fmt.Errorf("%s:%d: a block in %q is neither run nor output: use sh or text, or put "+
			"<!-- run until: text -->, <!-- run with: program -->, <!-- file: name --> or <!-- not run: reason --> before it", b.Page, b.Line, b.Language)
	}
	return nil
}

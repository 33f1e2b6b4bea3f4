// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
)

// A Terminal is where output goes: what it can show.
type Terminal struct {
	// Width is the number of columns; zero means that nothing is cut or wrapped.
	Width int
	// Colour says that colours are wanted.
	Colour bool
	// Redraws says that what was shown can be shown anew in its place.
	Redraws bool
}

// Terminal tells of standard output. What is piped is neither coloured nor wrapped,
// and NO_COLOR (no-color.org) is heeded.
func (p *Plugin) Terminal() Terminal {
	file, ok := p.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Terminal{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	return Terminal{Width: width, Colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Redraws: true}
}

// Paint returns text that anybody may have written in the colour of a state, or as it
// is. It is harmless for a terminal.
func (t Terminal) Paint(state tree.State, text string) string {
	text = tree.Plain(text)
	codes := map[tree.State]string{tree.Good: "32", tree.Waiting: "33", tree.Failed: "31", tree.Unknown: "2"}
	if !t.Colour || text == "" {
		return text
	}
	return "\x1b[" + codes[state] + "m" + text + "\x1b[0m"
}

// Wrap breaks a text that anybody may have written between words, into lines of at
// most width characters, which are harmless for a terminal. A word that is longer is
// broken, too. Zero breaks nothing.
func Wrap(text string, width int) []string {
	if width <= 0 {
		return []string{tree.Plain(text)}
	}
	var lines []string
	line := ""
	length := utf8.RuneCountInString
	for word := range strings.FieldsSeq(tree.Plain(text)) {
		for length(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case length(line)+1+length(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// Indented writes a text below an indent, in as many lines as the terminal needs.
func (t Terminal) Indented(indent, text string) string {
	width := 0
	if t.Width > 0 {
		width = max(leastWidth, t.Width-utf8.RuneCountInString(indent))
	}
	return indent + strings.Join(Wrap(text, width), "\n"+indent) + "\n"
}

// leastWidth is for words on a terminal that is too narrow for them.
const leastWidth = 24

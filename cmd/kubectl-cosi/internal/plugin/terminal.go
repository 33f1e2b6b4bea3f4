// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
)

// A Terminal describes the capabilities of the output.
type Terminal struct {
	// Width is the number of columns; zero disables cutting and wrapping.
	Width int
	// Colour enables colours.
	Colour bool
	// Redraws means that output can be redrawn in place.
	Redraws bool
}

// Terminal describes standard output. Output to a pipe is neither coloured nor wrapped, and NO_COLOR
// (no-color.org) disables colours.
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

// Paint makes untrusted text safe for a terminal and, if enabled, colours it by state.
func (t Terminal) Paint(state tree.State, text string) string {
	text = tree.Plain(text)
	codes := map[tree.State]string{tree.Good: "32", tree.Waiting: "33", tree.Failed: "31", tree.Unknown: "2"}
	if !t.Colour || text == "" {
		return text
	}
	return "\x1b[" + codes[state] + "m" + text + "\x1b[0m"
}

// Wrap breaks untrusted text at word boundaries into lines of at most width characters that are safe for a
// terminal. It also breaks longer words. A width of zero disables wrapping.
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

// Indented writes an indented text, wrapped for the terminal.
func (t Terminal) Indented(indent, text string) string {
	width := 0
	if t.Width > 0 {
		width = max(leastWidth, t.Width-utf8.RuneCountInString(indent))
	}
	return indent + strings.Join(Wrap(text, width), "\n"+indent) + "\n"
}

// leastWidth is the minimum text width on a narrow terminal.
const leastWidth = 24

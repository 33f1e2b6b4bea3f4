// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
)

// TestPictureOfTheDocs draws the output on a coloured terminal of 96 columns.
func TestPictureOfTheDocs(t *testing.T) {
	t.Parallel()
	const columns = 96
	v := view{Terminal: plugin.Terminal{Width: columns, Colour: true}, now: now}
	var out bytes.Buffer
	root := func(name string) tree.Root { return tree.Root{Kind: tree.KindClaim, Namespace: "team-a", Name: name} }
	if err := v.table(&out, tree.Build(cluster(), root("photos"), root("old")), false); err != nil {
		t.Fatal(err)
	}
	docstest.CurrentPage(t, "docs/images/status.svg", func(string) []byte { return drawn("$ kubectl cosi status\n"+out.String(), columns) })
}

// painted matches a part of a line with or without a colour.
var painted = regexp.MustCompile("\x1b\\[(\\d+)m([^\x1b]*)\x1b\\[0m|[^\x1b]+")

// drawn returns an SVG of a program's terminal output. Each part has a position and a length, independent of
// the font.
func drawn(output string, columns int) []byte {
	const wide, high, margin = 8, 18, 12
	colours := map[string]string{"": "#e6edf3", "32": "#7ee787", "33": "#e3b341", "31": "#ff7b72", "2": "#9aa4af"}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	width, height := columns*wide+2*margin, len(lines)*high+2*margin
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="monospace" font-size="13"><title>kubectl cosi status</title>`, width, height)
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" rx="6" fill="#0d1117"/>`+"\n", width, height)
	for i, line := range lines {
		column := 0
		for _, part := range painted.FindAllStringSubmatch(line, -1) {
			text := part[2]
			if part[1] == "" {
				text = part[0]
			}
			length := utf8.RuneCountInString(text)
			fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="%s" textLength="%d" lengthAdjust="spacingAndGlyphs" xml:space="preserve">`,
				margin+column*wide, margin+(i+1)*high-5, colours[part[1]], length*wide)
			_ = xml.EscapeText(&svg, []byte(text)) // writing to a buffer cannot fail
			svg.WriteString("</text>\n")
			column += length
		}
	}
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

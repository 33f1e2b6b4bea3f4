// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// A view is the context in which trees are shown.
type view struct {
	plugin.Terminal

	now time.Time
	// namespaces means that roots are shown with their namespaces.
	namespaces bool
}

// A row is one line of the table: an object, or text about the object above.
type row struct {
	guide string // the tree lines before the object or the text
	name  string
	node  *tree.Node
	words string
	state tree.State // of the text
}

// gap separates two columns.
const gap = "  "

// table writes the trees as a table for users. Problems and advice are below their object.
func (v view) table(w io.Writer, nodes []*tree.Node, wide bool) error {
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(w, "There are no BucketClaims or BucketAccesses.")
		return err //nolint:wrapcheck // an error of standard output
	}
	rows := []row{}
	for _, n := range nodes {
		rows = v.rows(rows, n, lines{}, "", wide)
	}
	widths := columnWidths{len("OBJECT"), len("STATUS"), len("REASON"), len("AGE")}
	for _, r := range rows {
		if r.node != nil {
			widths.fit(length(r.guide)+length(r.name), length(r.node.Status), length(r.node.Reason), length(v.age(r.node)))
		}
	}
	if v.Width > 0 {
		widths[0] = min(widths[0], max(minimumName, v.Width-widths[1]-widths[2]-widths[3]-3*len(gap)))
	}
	var text strings.Builder
	line(&text, pad("OBJECT", widths[0]), pad("STATUS", widths[1]), pad("REASON", widths[2]), "AGE")
	for _, r := range rows {
		if r.node == nil {
			v.wrapped(&text, r)
			continue
		}
		n := r.node
		status := v.Paint(n.State, n.Status) + strings.Repeat(" ", widths[1]-length(n.Status))
		line(&text, pad(cut(r.guide+tree.Plain(r.name), widths[0]), widths[0]), status, pad(tree.Plain(n.Reason), widths[2]), v.age(n))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// minimumName is the minimum width of names on a narrow terminal.
const minimumName = 12

type columnWidths [4]int

func (c *columnWidths) fit(lengths ...int) {
	for i, n := range lengths {
		c[i] = max(c[i], n)
	}
}

// line writes columns without trailing spaces. The last column may be empty.
func line(text *strings.Builder, columns ...string) {
	text.WriteString(strings.TrimRight(strings.Join(columns, gap), " ") + "\n")
}

// lines are the tree lines before a node and before its descendants.
type lines struct{ first, rest string }

// rows adds the rows of a node and its descendants. It omits a message that equals that of the parent: a
// claim repeats the message of its Bucket.
func (v view) rows(rows []row, n *tree.Node, l lines, said string, wide bool) []row {
	name := n.Kind + "/" + n.Name
	if v.namespaces && l.first == "" && n.Namespace != "" {
		name = n.Kind + " " + n.Namespace + "/" + n.Name
	}
	rows = append(rows, row{guide: l.first, name: name, node: n})
	guide := l.rest + "   "
	if len(n.Children) > 0 {
		guide = l.rest + "│  "
	}
	if n.Deleted != nil {
		rows = append(rows, row{guide: guide, words: "Deleted " + v.since(n.Deleted.Time) + " ago.", state: n.State})
	}
	if n.Message != "" && n.Message != said {
		rows = append(rows, row{guide: guide, words: n.Message, state: n.State})
		if n.Do != "" {
			rows = append(rows, row{guide: guide, words: "→ " + n.Do})
		}
	}
	if wide {
		for _, d := range n.Details {
			rows = append(rows, row{guide: guide, words: d.Name + ": " + d.Value})
		}
		for _, c := range n.Conditions {
			if conditions.IsSummary(c) {
				continue
			}
			rows = append(rows, row{guide: guide, words: fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)})
		}
	}
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			rows = v.rows(rows, child, lines{first: l.rest + "└─ ", rest: l.rest + "   "}, n.Message, wide)
		} else {
			rows = v.rows(rows, child, lines{first: l.rest + "├─ ", rest: l.rest + "│  "}, n.Message, wide)
		}
	}
	return rows
}

// wrapped writes text below its object, wrapped for the terminal.
func (v view) wrapped(text *strings.Builder, r row) {
	width := 0
	if v.Width > 0 {
		width = max(minimumName, v.Width-length(r.guide))
	}
	for _, line := range plugin.Wrap(r.words, width) {
		if r.state != "" && r.state != tree.Good {
			line = v.Paint(r.state, line)
		}
		text.WriteString(r.guide + line + "\n")
	}
}

func length(text string) int { return utf8.RuneCountInString(text) }

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-length(text)))
}

// cut shortens a text to width characters.
func cut(text string, width int) string {
	if length(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

func (v view) age(n *tree.Node) string {
	if n.Created == nil || n.Created.IsZero() {
		return ""
	}
	return v.since(n.Created.Time)
}

// since returns the time since t.
func (v view) since(t time.Time) string { return duration.HumanDuration(max(0, v.now.Sub(t))) }

// A document is the output for programs.
type document struct {
	State tree.State   `json:"state"`
	Trees []*tree.Node `json:"trees"`
}

func asJSON(w io.Writer, _ view, nodes []*tree.Node) error {
	text, err := json.MarshalIndent(document{State: tree.Worst(nodes), Trees: nodes}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err //nolint:wrapcheck // an error of standard output
}

func asYAML(w io.Writer, _ view, nodes []*tree.Node) error {
	text, err := yaml.Marshal(document{State: tree.Worst(nodes), Trees: nodes})
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// asDot writes a graph for Graphviz. An object in several trees is one node.
func asDot(w io.Writer, _ view, nodes []*tree.Node) error {
	d := dot{seen: map[string]bool{}}
	d.text.WriteString("digraph cosi {\n  rankdir=LR\n  node [shape=box, style=filled, fontname=\"sans-serif\"]\n")
	for _, n := range nodes {
		d.add(n)
	}
	d.text.WriteString("}\n")
	_, err := io.WriteString(w, d.text.String())
	return err
}

type dot struct {
	text strings.Builder
	seen map[string]bool
}

// once reports whether a line has not been written before.
func (d *dot) once(line string) {
	if !d.seen[line] {
		d.seen[line] = true
		d.text.WriteString(line)
	}
}

func (d *dot) add(n *tree.Node) string {
	id := quoted(cmp.Or(n.Namespace, "-") + "/" + n.Kind + "/" + n.Name)
	colour := map[tree.State]string{tree.Good: "palegreen", tree.Waiting: "khaki", tree.Failed: "lightcoral", tree.Unknown: "lightgrey"}[n.State]
	label := quoted(n.Kind + "\n" + n.Name + "\n" + strings.TrimSpace(n.Status+" "+n.Reason))
	d.once(fmt.Sprintf("  %s [label=%s, fillcolor=%s]\n", id, label, colour))
	for _, child := range n.Children {
		d.once(fmt.Sprintf("  %s -> %s\n", id, d.add(child)))
	}
	return id
}

// quoted returns a string literal in the DOT language.
func quoted(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strconv.Quote(tree.Plain(line)) // escapes quotes and backslashes
		lines[i] = line[1 : len(line)-1]
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

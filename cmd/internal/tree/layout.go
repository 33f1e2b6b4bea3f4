// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"strings"
)

// Sizes in the map, in SVG units.
const (
	boxWidth, boxHeight = 232, 62
	gapAcross, gapDown  = 46, 16
	betweenTrees        = 14
)

// A Map is a drawing of trees, each from left to right.
type Map struct {
	Width, Height int
	Boxes         []Box
	Lines         []Line
	// Hidden is the number of nodes below the shown ones that are not shown.
	Hidden int
}

// A Box is a node on the map.
type Box struct {
	X, Y, Width, Height int
	// ID is the unique ID of the box. It is the ID of the selected object, with a numeric prefix if other
	// boxes select the same object.
	ID        string
	Node      *Node
	Selection Selection
	Selected  bool
}

// A Line connects the right side of a box with the left side of a child.
type Line struct{ Path string }

// layout places the nodes. A box is level with its first child, and boxes do not overlap.
func layout(roots []*Node, selected Selection) Map {
	m := Map{}
	for _, root := range roots {
		m.place(root, 0, selected)
		m.Height += betweenTrees
	}
	m.Height = max(0, m.Height-gapDown-betweenTrees)
	seen := map[string]int{}
	for i := range m.Boxes {
		id := m.Boxes[i].Selection.ID()
		if seen[id]++; seen[id] > 1 {
			id = fmt.Sprintf("%d:%s", seen[id], id)
		}
		m.Boxes[i].ID = id
	}
	return m
}

// place places a node and its children at a depth, below the nodes placed before, and returns the vertical
// center of its box.
func (m *Map) place(n *Node, depth int, selected Selection) int {
	x, y := depth*(boxWidth+gapAcross), m.Height
	selection := selectionFor(n)
	m.Boxes = append(m.Boxes, Box{X: x, Y: y, Width: boxWidth, Height: boxHeight, Node: n, Selection: selection, Selected: selection == selected})
	m.Width = max(m.Width, x+boxWidth)
	middle := y + boxHeight/2
	for i, child := range n.Children {
		if chosen, _ := find([]*Node{child}, selected); i >= mostTrees && chosen == nil {
			m.Hidden++
			continue
		}
		to := m.place(child, depth+1, selected)
		right := x + boxWidth
		m.Lines = append(m.Lines, Line{Path: fmt.Sprintf("M%d %dh%dV%dh%d", right, middle, gapAcross/2, to, gapAcross/2)})
	}
	m.Height = max(m.Height, y+boxHeight+gapDown)
	return middle
}

// ViewWidth is the width including the borders of the outermost boxes.
func (m Map) ViewWidth() int { return m.Width + lineRoom }

// ViewHeight is the height including the borders of the outermost boxes.
func (m Map) ViewHeight() int { return m.Height + lineRoom }

const (
	// lineRoom is the width of the borders.
	lineRoom = 4
	// longest is the number of characters of usual width that fit in a box. The page truncates wider text.
	longest = 24
)

// Class returns the CSS class of the state.
func (b Box) Class() string { return strings.ToLower(string(b.Node.State)) }

// ShortName returns the name, shortened to fit.
func (b Box) ShortName() string { return shortened(b.Node.Name, longest) }

// ShortStatus returns the status with its reason, prefixed with a symbol for users who cannot distinguish
// colours.
func (b Box) ShortStatus() string {
	sign := map[State]string{Good: "✓", Waiting: "…", Failed: "✗", Unknown: "?"}[b.Node.State]
	words := b.Node.Status
	if b.Node.Reason != "" && b.Node.State != Good && b.Node.Reason != words {
		words += " " + b.Node.Reason
	}
	return sign + " " + shortened(words, longest)
}

// shortened removes the middle of a text that has more than n characters.
func shortened(text string, n int) string {
	runes := []rune(Plain(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-n/2-1):])
}

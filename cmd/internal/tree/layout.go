// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"strings"
)

// Sizes of the map, in the units of its picture.
const (
	boxWidth, boxHeight = 212, 62
	gapAcross, gapDown  = 46, 16
	betweenTrees        = 14
)

// A Map is a picture of trees, each from left to right.
type Map struct {
	Width, Height int
	Boxes         []Box
	Lines         []Line
	// Hidden is how many hang on those that are shown, and are not.
	Hidden int
}

// A Box is a node of a tree.
type Box struct {
	X, Y, Width, Height int
	// ID is the box's alone: that of its selection, which more boxes may lead to, behind a number for those after the first.
	ID        string
	Node      *Node
	Selection Selection
	Selected  bool
}

// A Line leads from the right side of a box to the left side of one that hangs on it.
type Line struct{ Path string }

// layout places the nodes: a box stands beside the first one that hangs on it, and
// no two overlap.
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

// place puts a node at a depth below what was placed before, and returns where the
// middle of its box is.
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

// ViewWidth and ViewHeight leave room for the lines of the outermost boxes.
func (m Map) ViewWidth() int { return m.Width + lineRoom }

// ViewHeight is beside ViewWidth.
func (m Map) ViewHeight() int { return m.Height + lineRoom }

const (
	lineRoom = 4
	// inset is from the side of a box to its text; the others are from its top.
	inset, kindLine, nameLine, statusLine = 10, 17, 35, 52
	// longest are the characters that fit in a box.
	longest = 24
)

// Class is how the style calls the state.
func (b Box) Class() string { return strings.ToLower(string(b.Node.State)) }

// TextX is where the words of the box begin.
func (b Box) TextX() int { return b.X + inset }

// KindY is where the kind stands.
func (b Box) KindY() int { return b.Y + kindLine }

// NameY is where the name stands.
func (b Box) NameY() int { return b.Y + nameLine }

// StatusY is where the status stands.
func (b Box) StatusY() int { return b.Y + statusLine }

// ShortName is the name, as far as it fits.
func (b Box) ShortName() string { return shortened(b.Node.Name, longest) }

// ShortStatus is the status with its reason, behind a sign, for who sees no colours.
func (b Box) ShortStatus() string {
	sign := map[State]string{Good: "✓", Waiting: "…", Failed: "✗", Unknown: "?"}[b.Node.State]
	words := b.Node.Status
	if b.Node.Reason != "" && b.Node.State != Good && b.Node.Reason != words {
		words += " " + b.Node.Reason
	}
	return sign + " " + shortened(words, longest)
}

// shortened is a text without its middle if it has more than n characters.
func shortened(text string, n int) string {
	runes := []rune(Plain(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-n/2-1):])
}

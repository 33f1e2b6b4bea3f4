// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A bar is something that took time, or that is known to have happened at one.
type bar struct {
	// object is what it is about, name what it is.
	object, name string
	kind         string // reconcile, step, call or fact, which is also its class in the page
	begin, end   time.Time
	failed       string // how it failed
}

const (
	// shortest is the least time that a step must have taken to be shown.
	shortest = time.Millisecond
	// mostBars bounds the picture to what a person can read.
	mostBars = 80
)

// bars are what controller and sidecars did for the objects, in order.
func (s *Spans) bars(of map[Selection]bool) []bar {
	var all []bar
	for _, r := range s.reconciles(of) {
		object := objectOf(r.root)
		for _, span := range r.within {
			b := bar{object: object.Kind + " " + object.Name, name: span.Name(), begin: span.StartTime(), end: span.EndTime()}
			switch {
			case span == r.root:
				b.kind = "reconcile"
			case span.SpanKind() == trace.SpanKindClient:
				b.kind, b.name = "call", path.Base(b.name) // of an RPC the method
			case span.SpanKind() == trace.SpanKindServer:
				continue // the call says the same
			default:
				b.kind = "step"
			}
			if span.Status().Code == codes.Error {
				b.failed = cmp.Or(span.Status().Description, "failed")
			}
			if b.kind == "call" || b.failed != "" || b.end.Sub(b.begin) >= shortest {
				all = append(all, b)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y bar) int {
		return cmp.Or(x.begin.Compare(y.begin), y.end.Compare(x.end))
	})
	return all
}

var _ sdktrace.SpanProcessor = (*Spans)(nil)

// facts are what the objects themselves say about when things happened.
func facts(nodes []*Node) []bar {
	var all []bar
	for _, n := range nodes {
		if n.Created != nil && !n.Created.IsZero() {
			all = append(all, bar{object: n.Kind + " " + n.Name, name: "created", kind: "fact", begin: n.Created.Time, end: n.Created.Time})
		}
		for _, c := range n.Conditions {
			if at := c.LastTransitionTime.Time; at.Unix() > 0 {
				all = append(all, bar{object: n.Kind + " " + n.Name, name: fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason), kind: "fact", begin: at, end: at})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y bar) int { return x.begin.Compare(y.begin) })
	return all
}

// A Timeline is a picture of bars, from top to bottom as they began.
type Timeline struct {
	Width, Height, Left int
	Rows                []Row
	Pauses              []Pause
	// Earlier is how many bars before these are not shown.
	Earlier int
	// Exact says that it is from spans; the objects themselves know whole seconds.
	Exact bool
}

// A Row is one bar with its words.
type Row struct {
	Y, X, Width  int
	Object, Name string
	Kind, Failed string
	// Offset is the time since the first bar began, Took that from its begin to its end.
	Offset, Took string
}

// A Pause is a place where nothing happened for a time that the picture leaves out.
type Pause struct {
	X    int
	Took string
}

// Sizes of the timeline, in the units of its picture.
const (
	rowHeight    = 22
	wordsWidth   = 420
	barsWidth    = 460
	pauseWidth   = 26
	thinnest     = 3
	behindBars   = 90
	pauseShorter = 4 // a pause is left out if it takes more than a quarter of what is busy
)

// draw makes the picture of bars that are in order.
func draw(bars []bar, exact bool) *Timeline {
	t := &Timeline{Left: wordsWidth, Exact: exact, Earlier: max(0, len(bars)-mostBars)}
	bars = bars[t.Earlier:]
	if len(bars) == 0 {
		return nil
	}
	axis := newAxis(bars)
	first := bars[0].begin
	right := barsWidth // or more, where there are many pauses
	for i, b := range bars {
		from := axis.x(b.begin)
		row := Row{
			Y: i * rowHeight, X: wordsWidth + from, Width: max(thinnest, axis.x(b.end)-from), Object: b.object, Name: b.name,
			Kind: b.kind, Failed: b.failed, Offset: short(b.begin.Sub(first)),
		}
		if b.kind != "fact" {
			row.Took = short(b.end.Sub(b.begin))
		}
		right = max(right, from+row.Width)
		t.Rows = append(t.Rows, row)
	}
	for _, p := range axis.pauses {
		t.Pauses = append(t.Pauses, Pause{X: wordsWidth + axis.x(p.begin) + pauseWidth/2, Took: short(p.end.Sub(p.begin))})
	}
	t.Width, t.Height = wordsWidth+right+behindBars, len(bars)*rowHeight
	return t
}

// A span of time.
type span struct{ begin, end time.Time }

// An axis maps times to places, and gives long pauses the width of a gap.
type axis struct {
	first  time.Time
	pauses []span
	scale  float64 // places for each nanosecond
}

func newAxis(bars []bar) axis {
	a := axis{first: bars[0].begin}
	var idle []span
	end := bars[0].begin
	var busy time.Duration
	for _, b := range bars {
		if b.begin.After(end) {
			idle = append(idle, span{end, b.begin})
			end = b.begin
		}
		if b.end.After(end) {
			busy += b.end.Sub(end)
			end = b.end
		}
	}
	shown := end.Sub(a.first)
	for _, pause := range idle {
		if took := pause.end.Sub(pause.begin); took > busy/pauseShorter {
			a.pauses = append(a.pauses, pause)
			shown -= took
		}
	}
	a.scale = float64(max(thinnest, barsWidth-len(a.pauses)*pauseWidth)) / float64(max(1, shown))
	return a
}

func (a axis) x(at time.Time) int {
	shown, gaps := at.Sub(a.first), 0
	for _, pause := range a.pauses {
		if !at.Before(pause.end) {
			shown -= pause.end.Sub(pause.begin)
			gaps++
		}
	}
	return int(float64(shown)*a.scale) + gaps*pauseWidth
}

// short writes a duration in as few characters as a person needs.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

const (
	textLine, barLine, behindBar = 15, 6, 6
	longestWords, longestObject  = 64, 34
)

// TextY is where the words of the row stand.
func (r Row) TextY() int { return r.Y + textLine }

// BarY is the top of the bar.
func (r Row) BarY() int { return r.Y + barLine }

// After is where the words behind the bar begin.
func (r Row) After() int { return r.X + r.Width + behindBar }

// ShortWords are the object and the name, as far as they fit.
func (r Row) ShortWords() string {
	return shortened(r.Object, longestObject) + ": " + shortened(r.Name, longestWords-longestObject)
}

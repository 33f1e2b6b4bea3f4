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

	"github.com/cooper-cosi/cooper/internal/conditions"
)

// A bar is a period or a point in time on the timeline.
type bar struct {
	// object is the object it belongs to, name its name.
	object, name string
	kind         string // reconcile, step, call or fact; also the CSS class
	begin, end   time.Time
	failed       string // the error, if any
}

const (
	// shortest is the minimum duration of a step that is shown.
	shortest = time.Millisecond
	// mostBars limits the number of bars.
	mostBars = 80
)

// bars returns what controller and sidecars did for the objects, in chronological order.
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
				b.kind, b.name = "call", path.Base(b.name) // the method of an RPC
			case span.SpanKind() == trace.SpanKindServer:
				continue // the same information as the call
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

// facts returns the timestamps in the objects.
func facts(nodes []*Node) []bar {
	var all []bar
	for _, n := range nodes {
		if n.Created != nil && !n.Created.IsZero() {
			all = append(all, bar{object: n.Kind + " " + n.Name, name: "created", kind: "fact", begin: n.Created.Time, end: n.Created.Time})
		}
		for _, c := range n.Conditions {
			if at := c.LastTransitionTime.Time; at.Unix() > 0 && !conditions.IsSummary(c) {
				all = append(all, bar{object: n.Kind + " " + n.Name, name: fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason), kind: "fact", begin: at, end: at})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y bar) int { return x.begin.Compare(y.begin) })
	return all
}

// A Timeline is a drawing of bars, from top to bottom in the order of their start.
type Timeline struct {
	Width, Height, Left int
	Rows                []Row
	Pauses              []Pause
	// Earlier is the number of earlier bars that are not shown.
	Earlier int
	// Exact means that the times are from spans. Objects have only whole seconds.
	Exact bool
}

// A Row is one bar with its label.
type Row struct {
	Y, X, Width  int
	Object, Name string
	Kind, Failed string
	// Offset is the time since the start of the first bar, Took the duration.
	Offset, Took string
}

// A Pause is a place at which the drawing omits an idle period.
type Pause struct {
	X    int
	Took string
}

// Sizes in the timeline, in SVG units.
const (
	rowHeight    = 22
	wordsWidth   = 420
	barsWidth    = 460
	pauseWidth   = 26
	thinnest     = 3
	behindBars   = 90
	pauseShorter = 4 // pauses longer than a quarter of the busy time are omitted
)

// draw draws bars, which must be in order.
func draw(bars []bar, exact bool) *Timeline {
	t := &Timeline{Left: wordsWidth, Exact: exact, Earlier: max(0, len(bars)-mostBars)}
	bars = bars[t.Earlier:]
	if len(bars) == 0 {
		return nil
	}
	axis := newAxis(bars)
	first := bars[0].begin
	right := barsWidth // may grow with many pauses
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

// A span is a period of time.
type span struct{ begin, end time.Time }

// An axis maps times to coordinates, and shortens long pauses to the width of a gap.
type axis struct {
	first  time.Time
	pauses []span
	scale  float64 // units per nanosecond
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

// short formats a duration concisely.
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

// TextY returns the y coordinate of the row's text.
func (r Row) TextY() int { return r.Y + textLine }

// BarY returns the y coordinate of the bar's top.
func (r Row) BarY() int { return r.Y + barLine }

// After returns the x coordinate of the text after the bar.
func (r Row) After() int { return r.X + r.Width + behindBar }

// ShortWords returns the object and the name, shortened to fit.
func (r Row) ShortWords() string {
	return shortened(r.Object, longestObject) + ": " + shortened(r.Name, longestWords-longestObject)
}

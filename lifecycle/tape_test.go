// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Names of the two components in requests and faults.
const (
	theController = "controller"
	theSidecar    = "sidecar"
)

// A request is a write to the API server or a call to the driver.
type request struct {
	// Who sent it: theController or theSidecar.
	Who string
	// What it is, such as "patch buckets/status" or "DriverCreateBucket".
	What string
	// Name of the object, or the ID in the call.
	Name string
}

func (r request) String() string { return r.Who + " " + r.What }

// An entry is a request on the tape. Began and Ended are positions in a single sequence; Ended is 0 while the
// request is in progress.
type entry struct {
	request

	Began, Ended int
	// OK means that the request took effect and the response reports success.
	OK bool
}

// A fault affects requests that match Who, What and Name, where empty fields match everything. It skips the
// first Skip requests and affects the next Times (0 means one, always means all).
type fault struct {
	Who, What, Name string
	Skip, Times     int
	// Status is the HTTP status of the response; 0 breaks the connection.
	Status int
	// After lets the request take effect and then loses the response.
	After bool
	// Hold delays a request until the channel is closed. The response is lost only if After is set.
	Hold <-chan struct{}
	// Hit, if set, is called when the fault occurs.
	Hit func()

	seen int
}

// always makes a fault permanent.
const always = -1

// A tape records the writes and calls of all processes in a world in one sequence, and applies faults.
type tape struct {
	mu      sync.Mutex
	clock   int
	entries []*entry
	faults  []*fault
	// reasons are the reasons of all conditions that were written.
	reasons map[string]bool
	// contradictions are the writes of conditions that Ready does not summarize.
	contradictions []string
}

// note records the reasons of conditions in the body of a write, which is an object or a patch.
func (t *tape) note(body io.Reader) {
	var content any
	if json.NewDecoder(body).Decode(&content) != nil {
		return // another format
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasons == nil {
		t.reasons = map[string]bool{}
	}
	t.noteIn(content)
}

func (t *tape) noteIn(content any) {
	switch c := content.(type) {
	case []any:
		for _, item := range c {
			t.noteIn(item)
		}
	case map[string]any:
		if path, _ := c["path"].(string); strings.HasPrefix(path, "/status/conditions/") && strings.HasSuffix(path, "/reason") {
			t.noteReason(c["value"])
		}
		if c["status"] != nil && c["lastTransitionTime"] != nil {
			t.noteReason(c["reason"])
		}
		for _, member := range c {
			t.noteIn(member)
		}
	}
}

func (t *tape) noteReason(reason any) {
	if text, ok := reason.(string); ok {
		t.reasons[text] = true
	}
}

// written returns the reasons of all conditions that were written.
func (t *tape) written() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.reasons))
}

// strike adds a fault. The returned function removes it.
func (t *tape) strike(f *fault) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, f)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.faults = slices.DeleteFunc(t.faults, func(other *fault) bool { return other == f })
	}
}

// calm removes all faults.
func (t *tape) calm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = nil
}

// begin records the start of a request and returns the fault that applies to it, or nil.
func (t *tape) begin(r request) (*entry, *fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	e := &entry{request: r, Began: t.clock}
	t.entries = append(t.entries, e)
	for _, f := range t.faults {
		if f.Who != "" && f.Who != r.Who || f.What != "" && f.What != r.What || f.Name != "" && f.Name != r.Name {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == always || f.seen <= f.Skip+max(f.Times, 1)) {
			return e, f
		}
	}
	return e, nil
}

func (t *tape) end(e *entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock++
	e.Ended, e.OK = t.clock, ok
}

// all returns copies of the entries in the order of their start.
func (t *tape) all() []entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []entry
	for _, e := range t.entries {
		out = append(out, *e)
	}
	return out
}

// after returns copies of the entries that began after a mark, in the order of their start.
func (t *tape) after(mark int) []entry {
	return slices.DeleteFunc(t.all(), func(e entry) bool { return e.Began <= mark })
}

// done returns the matching requests that took effect, as "who what", oldest first.
func (t *tape) done(match func(entry) bool) []string {
	var out []string
	for _, e := range t.all() {
		if e.OK && match(e) {
			out = append(out, e.String())
		}
	}
	return out
}

// mark returns a position for since.
func (t *tape) mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock
}

// since selects entries that started after a mark.
func since(mark int) func(entry) bool { return func(e entry) bool { return e.Began > mark } }

// hold waits until the fault ends. It returns false if ctx ended first.
func (f *fault) hold(ctx context.Context) bool {
	select {
	case <-f.Hold:
		return true
	case <-ctx.Done():
		return false
	}
}

// hit calls Hit if it is set.
func (f *fault) hit() {
	if f.Hit != nil {
		f.Hit()
	}
}

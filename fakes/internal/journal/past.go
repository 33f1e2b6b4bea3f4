// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"maps"
	"sync"
	"time"
)

// Past is a journal that also records earlier states, for stale reads. It always includes the state before the first
// call. A nil *Past records nothing.
type Past struct {
	Journal

	now func() time.Time

	mu    sync.Mutex
	calls int
	// base is how everything was before the changes.
	base    tables
	changes []change
}

// change contains the records of one write, the number of the call that wrote them, and the time of the write.
type change struct {
	call    int
	time    time.Time
	records []Record
}

// keptChanges is how many changes back one can look at least.
const keptChanges = 1000

// NewPast records the current contents of a journal and all further writes.
func NewPast(j Journal, now func() time.Time) *Past {
	return &Past{Journal: j, now: now, base: tables{}}
}

// Call counts a call. Past attributes further writes to this call.
func (p *Past) Call() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
}

// Append implements Journal.
func (p *Past) Append(records ...Record) error {
	if err := p.Journal.Append(records...); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == 0 {
		p.base.apply(records)
		return nil
	}
	p.changes = append(p.changes, change{p.calls, p.now(), records})
	if len(p.changes) >= 2*keptChanges {
		for _, old := range p.changes[:keptChanges] {
			p.base.apply(old.records)
		}
		p.changes = append([]change(nil), p.changes[keptChanges:]...)
	}
	return nil
}

// Table implements Journal.
func (p *Past) Table(name string) map[string]json.RawMessage {
	table := p.Journal.Table(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base[name] = maps.Clone(table); p.base[name] == nil {
		p.base[name] = map[string]json.RawMessage{}
	}
	return table
}

// Before returns the journal without the writes of the current call, of the given number of calls before it, and of
// all writes after the given time. The returned journal discards writes.
func (p *Past) Before(calls int, at time.Time) Journal {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := tables{}
	for name, table := range p.base {
		was[name] = maps.Clone(table)
	}
	for _, one := range p.changes {
		if one.call < p.calls-calls && !one.time.After(at) {
			was.apply(one.records)
		}
	}
	return view{was: was}
}

// tables are the values of keys by the name of their table.
type tables map[string]map[string]json.RawMessage

func (t tables) apply(records []Record) {
	for _, r := range records {
		if r.Value == nil {
			delete(t[r.Table], r.Key)
			continue
		}
		if t[r.Table] == nil {
			t[r.Table] = map[string]json.RawMessage{}
		}
		t[r.Table][r.Key] = r.Value
	}
}

// view is a journal that can only be read.
type view struct {
	Discard

	was tables
}

// Table implements Journal.
func (v view) Table(name string) map[string]json.RawMessage { return v.was[name] }

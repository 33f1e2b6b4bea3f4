// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// worthALine is the minimum duration of a task that is shown. Most tasks have nothing to do and take no
	// time.
	worthALine = 2 * time.Second
	// quiet is the time between two lines of a task if the output is not a terminal.
	quiet = 20 * time.Second
)

// Progress shows the progress of slow tasks: on a terminal in one line that is updated, elsewhere in a line
// for each task every 20 seconds. It is also an io.Writer. A nil Progress is silent.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	now      func() time.Time
	tasks    []*task
}

// task is a slow operation with a current state.
type task struct {
	progress    *Progress
	name, state string
	began, next time.Time // next is when another line is due
}

// NewProgress returns a Progress that writes to out. It returns out itself if that is a Progress, and nil if
// out is nil.
func NewProgress(out io.Writer) *Progress {
	if out == nil {
		return nil
	}
	if p, ok := out.(*Progress); ok {
		return p
	}
	return &Progress{out: out, terminal: isTerminal(out), now: time.Now}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Say writes a permanent line.
func (p *Progress) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(fmt.Sprintf(format, args...))
}

// Write implements io.Writer. The text is written as permanent lines.
func (p *Progress) Write(text []byte) (int, error) {
	p.Say("%s", strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

// start adds a task, which is shown once it has a state.
func (p *Progress) start(name string) *task {
	t := &task{progress: p, name: name}
	if p == nil {
		return t
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.began = p.now()
	t.next = t.began.Add(worthALine)
	p.tasks = append(p.tasks, t)
	return t
}

// set replaces the state of the task.
func (t *task) set(format string, args ...any) {
	p := t.progress
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	state := fmt.Sprintf(format, args...)
	if p.terminal && state == t.state {
		return
	}
	t.state = state
	if p.terminal {
		p.current()
		return
	}
	if now := p.now(); !now.Before(t.next) {
		t.next = now.Add(quiet)
		p.line(t.name + ": " + t.state)
	}
}

// end removes the task, and writes its last state as a permanent line if it took long enough.
func (t *task) end(format string, args ...any) {
	p := t.progress
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.tasks {
		if other == t {
			p.tasks = append(p.tasks[:i:i], p.tasks[i+1:]...)
			break
		}
	}
	if p.now().Sub(t.began) >= worthALine {
		p.line(t.name + ": " + fmt.Sprintf(format, args...))
	} else if p.terminal {
		_, _ = fmt.Fprint(p.out, clearLine)
	}
}

// clearLine clears the current line of a terminal.
const clearLine = "\r\x1b[K"

// line writes a permanent line above the current one. The caller holds the lock. Write errors are ignored,
// because only the terminal is affected.
func (p *Progress) line(text string) {
	if p.terminal {
		text = clearLine + text
	}
	_, _ = fmt.Fprintln(p.out, text)
	p.current()
}

// current writes the states of all tasks in one line that the next call overwrites. The caller holds the
// lock.
func (p *Progress) current() {
	if !p.terminal {
		return
	}
	var states []string
	for _, t := range p.tasks {
		if t.state != "" {
			states = append(states, t.name+": "+t.state)
		}
	}
	if len(states) > 0 {
		_, _ = fmt.Fprint(p.out, clearLine+strings.Join(states, "; "))
	}
}

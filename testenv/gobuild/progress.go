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
	// worthALine is how long a task takes at least before it is shown: most take no time, as nothing has changed.
	worthALine = 2 * time.Second
	// quiet is the time between two lines of a task where no line can be replaced.
	quiet = 20 * time.Second
)

// Progress shows a person what goes on while one waits: on a terminal in one line that is kept current, elsewhere in a
// line for each task every 20 seconds. It is itself a writer, so that it can be passed on as one. A nil Progress is
// silent.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	now      func() time.Time
	tasks    []*task
}

// task is something that takes long. Its state is what is true of it now.
type task struct {
	progress    *Progress
	name, state string
	began, next time.Time // next is when another line is due
}

// NewProgress returns a Progress that writes to out: out itself if it is one, nil if out is nil.
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

// Say writes a line that stays.
func (p *Progress) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(fmt.Sprintf(format, args...))
}

// Write implements io.Writer. The text is lines that stay.
func (p *Progress) Write(text []byte) (int, error) {
	p.Say("%s", strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

// start adds a task, which is shown when it has a state.
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

// end removes the task, and says its last state for good if it was worth a line.
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

// clearLine returns to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// line writes a line that stays, above the current one. The caller holds the lock. An error is dropped: it is
// that person's terminal which fails.
func (p *Progress) line(text string) {
	if p.terminal {
		text = clearLine + text
	}
	_, _ = fmt.Fprintln(p.out, text)
	p.current()
}

// current writes the states of all tasks in one line that the next call replaces. The caller holds the lock.
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

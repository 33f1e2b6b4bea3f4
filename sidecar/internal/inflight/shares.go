// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Shares bounds how many objects of one class are worked on at once, so that a
// class whose calls all hang leaves workers to the others. It never blocks: who
// finds no share waits in line and is called back when one is reserved for it.
// First tries and others have a line each, which take turns: neither a crowd
// that fails nor a stream of new objects keeps the other from the shares.
type Shares struct {
	// PerClass is the number of shares of each class.
	PerClass int

	mu      sync.Mutex
	claims  map[reconcile.Request]*claim
	classes map[string]*class
}

// A claim is that of an object that has a share or waits for one.
type claim struct {
	class string
	line  int
	wake  func()
	has   bool
}

// A class is one of which objects have shares; others wait only while all are taken.
type class struct {
	taken int
	// lines are those who wait, for the first try and for another one, and turn is
	// the line that comes next.
	lines [2][]*claim
	turn  int
}

// Take reports whether the object has a share, which it keeps until Leave. If not, it
// waits; wake is called once a share is reserved for it, and must neither block nor
// call Shares. again says that this is not the first try.
func (s *Shares) Take(req reconcile.Request, of string, again bool, wake func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := &claim{class: of, wake: wake}
	if again {
		it.line = 1
	}
	if before := s.claims[req]; before != nil {
		if before.has || before.line == it.line {
			return before.has
		}
		s.leave(req, before)
	}
	if s.claims == nil {
		s.claims, s.classes = map[reconcile.Request]*claim{}, map[string]*class{}
	}
	c := s.classes[of]
	if c == nil {
		c = &class{}
		s.classes[of] = c
	}
	s.claims[req] = it
	if it.has = c.taken < s.PerClass; it.has {
		c.taken++
	} else {
		c.lines[it.line] = append(c.lines[it.line], it)
	}
	return it.has
}

// Leave ends what Take began: the object neither has a share nor waits for one.
func (s *Shares) Leave(req reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.claims[req]; it != nil {
		s.leave(req, it)
	}
}

func (s *Shares) leave(req reconcile.Request, it *claim) {
	delete(s.claims, req)
	c := s.classes[it.class]
	if !it.has {
		c.lines[it.line] = slices.DeleteFunc(c.lines[it.line], func(other *claim) bool { return other == it })
		return
	}
	if heir := c.next(); heir != nil {
		heir.has = true
		heir.wake()
		return
	}
	if c.taken--; c.taken == 0 {
		delete(s.classes, it.class)
	}
}

// next takes the one who comes next out of its line; nil if nobody waits.
func (c *class) next() *claim {
	for range c.lines {
		line := &c.lines[c.turn]
		c.turn = (c.turn + 1) % len(c.lines)
		if len(*line) > 0 {
			it := (*line)[0]
			*line = slices.Delete(*line, 0, 1)
			return it
		}
	}
	return nil
}

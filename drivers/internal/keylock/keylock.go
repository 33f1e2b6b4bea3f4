// SPDX-License-Identifier: Apache-2.0

// Package keylock holds locks that have names. It keeps nothing for a name that nobody locks or
// waits for, and must not know what the names stand for.
package keylock

import (
	"context"
	"fmt"
	"sync"
)

// Locks is a set of locks, one for each name. Its zero value is ready for use, by several
// goroutines.
type Locks struct {
	mu   sync.Mutex
	held map[string]*queue
}

type queue struct {
	turn chan struct{}
	// count is how many hold the lock or wait for it; the last one removes it.
	count int
}

// Lock waits for its turn, and returns what gives the lock back, to be called once; or for the end
// of ctx, which is an error.
func (l *Locks) Lock(ctx context.Context, name string) (unlock func(), err error) {
	q := l.enter(name)
	select {
	case q.turn <- struct{}{}:
		return func() {
			<-q.turn
			l.leave(name, q)
		}, nil
	case <-ctx.Done():
		l.leave(name, q)
		return nil, fmt.Errorf("wait for other calls about %s: %w", name, ctx.Err())
	}
}

func (l *Locks) enter(name string) *queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]*queue{}
	}
	q := l.held[name]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		l.held[name] = q
	}
	q.count++
	return q
}

func (l *Locks) leave(name string, q *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.count--; q.count == 0 {
		delete(l.held, name)
	}
}

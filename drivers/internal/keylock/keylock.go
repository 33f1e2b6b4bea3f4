// SPDX-License-Identifier: Apache-2.0

// Package keylock provides locks identified by names. A lock uses memory only while a caller holds it or waits for
// it.
package keylock

import (
	"context"
	"fmt"
	"sync"
)

// Locks is a set of named locks. Its zero value is ready for use, and it is safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]*queue
}

type queue struct {
	turn chan struct{}
	// count is the number of holders and waiters; the last one removes the lock.
	count int
}

// Lock waits for the lock with this name and returns a function that releases it. The caller must call that function
// exactly once. If ctx ends first, Lock returns an error.
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
		return nil, fmt.Errorf("wait for other calls for %s: %w", name, ctx.Err())
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

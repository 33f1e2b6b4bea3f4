// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"fmt"
	"sync"
)

// Locks keeps calls about one role apart: the kit keeps only those of one access apart, and the
// accesses of a service account share its role. Its zero value is ready for use.
type Locks struct {
	mu    sync.Mutex
	roles map[string]chan struct{}
}

// lock waits until the role is free, and returns what frees it again.
func (l *Locks) lock(ctx context.Context, role string) (func(), error) {
	l.mu.Lock()
	if l.roles == nil {
		l.roles = map[string]chan struct{}{}
	}
	free, known := l.roles[role]
	if !known {
		free = make(chan struct{}, 1)
		l.roles[role] = free
	}
	l.mu.Unlock()
	select {
	case free <- struct{}{}:
		return func() { <-free }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other calls about role %s: %w", role, ctx.Err())
	}
}

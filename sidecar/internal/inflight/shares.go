// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Shares limits how many objects with the same parameters are processed at the same time, so a backend that hangs
// leaves workers for the others. It never blocks: an object without a share waits in a queue and gets a callback when
// a share is reserved for it. First tries and retries have separate queues, which are served alternately, so neither
// delays the other for long.
type Shares struct {
	// PerPool is the number of shares for the same parameters.
	PerPool int

	mu      sync.Mutex
	members map[reconcile.Request]*member
	pools   map[string]*pool
}

// A member is an object that has a share or waits for one.
type member struct {
	pool  string
	queue int
	wake  func()
	has   bool
}

// A pool has the shares for the same parameters. Objects wait only while all shares are taken.
type pool struct {
	taken int
	// queues are the waiting first tries and the waiting retries; next is the queue that is served next.
	queues [2][]*member
	next   int
}

// Take reports whether the object has a share of the named pool. The object keeps its share until Leave. If it has no
// share, it waits in the queue, and wake is called once a share is reserved for it. wake must neither block nor call
// Shares.
func (s *Shares) Take(req reconcile.Request, name string, retry bool, wake func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := &member{pool: name, wake: wake}
	if retry {
		it.queue = 1
	}
	if before := s.members[req]; before != nil {
		if before.has || before.queue == it.queue {
			return before.has
		}
		s.leave(req, before)
	}
	if s.members == nil {
		s.members, s.pools = map[reconcile.Request]*member{}, map[string]*pool{}
	}
	p := s.pools[name]
	if p == nil {
		p = &pool{}
		s.pools[name] = p
	}
	s.members[req] = it
	if it.has = p.taken < s.PerPool; it.has {
		p.taken++
	} else {
		p.queues[it.queue] = append(p.queues[it.queue], it)
	}
	return it.has
}

// Leave undoes Take: the object returns its share or stops waiting for one.
func (s *Shares) Leave(req reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.members[req]; it != nil {
		s.leave(req, it)
	}
}

func (s *Shares) leave(req reconcile.Request, it *member) {
	delete(s.members, req)
	p := s.pools[it.pool]
	if !it.has {
		p.queues[it.queue] = slices.DeleteFunc(p.queues[it.queue], func(other *member) bool { return other == it })
		return
	}
	if successor := p.pop(); successor != nil {
		successor.has = true
		successor.wake()
		return
	}
	if p.taken--; p.taken == 0 {
		delete(s.pools, it.pool)
	}
}

// pop removes the member that is served next from its queue; nil if none waits.
func (p *pool) pop() *member {
	for range p.queues {
		queue := &p.queues[p.next]
		p.next = (p.next + 1) % len(p.queues)
		if len(*queue) > 0 {
			it := (*queue)[0]
			*queue = slices.Delete(*queue, 0, 1)
			return it
		}
	}
	return nil
}

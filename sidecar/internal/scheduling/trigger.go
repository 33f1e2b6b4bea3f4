// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Trigger is an event source for events that no watch reports: the driver has reconnected, or an ID or share that
// another object used is free. The zero value is ready to use. It drops requests that are enqueued before the
// controller starts, because the controller then reconciles every object anyway.
type Trigger struct {
	mu    sync.Mutex
	queue priorityqueue.PriorityQueue[reconcile.Request]
}

// Start implements source.Source.
func (t *Trigger) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("the queue %T has no priorities: leave UsePriorityQueue unset", queue)
	}
	t.queue = ordered
	return nil
}

// Enqueue triggers a reconcile for each request. It never blocks.
func (t *Trigger) Enqueue(requests ...reconcile.Request) { t.add(0, requests) }

// EnqueueLate is like Enqueue, with a lower priority than changed objects.
func (t *Trigger) EnqueueLate(requests ...reconcile.Request) { t.add(handler.LowPriority, requests) }

func (t *Trigger) add(priority int, requests []reconcile.Request) {
	t.mu.Lock()
	queue := t.queue
	t.mu.Unlock()
	if queue != nil {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
	}
}

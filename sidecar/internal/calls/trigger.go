// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Trigger is a source of a controller for what no watch reports: the driver came
// back, or an ID that another object used is free. The zero value is ready to
// use; what is enqueued before the controller starts is dropped, since it looks at
// every object then anyway.
type Trigger struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements source.Source.
func (t *Trigger) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = queue
	return nil
}

// Enqueue starts a reconcile of each request. It never blocks.
func (t *Trigger) Enqueue(requests ...reconcile.Request) {
	t.mu.Lock()
	queue := t.queue
	t.mu.Unlock()
	if queue == nil {
		return
	}
	for _, request := range requests {
		queue.Add(request)
	}
}

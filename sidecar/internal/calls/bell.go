// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Bell is a source of a controller for what no watch reports: the driver came
// back, or an ID that another object used is free. The zero value is ready to
// use; what is rung before the controller starts is dropped, since it looks at
// every object then anyway.
type Bell struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements source.Source.
func (b *Bell) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = queue
	return nil
}

// Ring starts a reconcile of each request. It never blocks.
func (b *Bell) Ring(requests ...reconcile.Request) {
	b.mu.Lock()
	queue := b.queue
	b.mu.Unlock()
	if queue == nil {
		return
	}
	for _, request := range requests {
		queue.Add(request)
	}
}

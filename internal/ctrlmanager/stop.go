// SPDX-License-Identifier: Apache-2.0

package ctrlmanager

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// New is like ctrl.NewManager with two differences. First, the manager can be stopped at any time. In
// controller-runtime (v0.25), a manager that is stopped before its caches are synced waits for them forever in a busy
// loop, for example if the API server is down or rejects list requests. Second, with leader election, Start returns an
// error as soon as this instance sees that another one holds the Lease. o.NewCache must not be set.
func New(config *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	stopping, stop := context.WithCancel(context.Background())
	o.NewCache = func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		inner, err := cache.New(config, o)
		if err != nil {
			return nil, fmt.Errorf("create a cache: %w", err)
		}
		return &yielding{Cache: inner, stopping: stopping}, nil
	}
	m := &manager{stop: stop, lost: make(chan error, 1)}
	bind, err := elect(config, &o, m.lose)
	if err != nil {
		stop()
		return nil, err
	}
	if m.Manager, err = ctrl.NewManager(config, o); err != nil {
		stop()
		return nil, err //nolint:wrapcheck // the caller adds the name of its manager
	}
	bind(m.Manager)
	return m, nil
}

// A manager notifies its cache when it is stopped, and stops when another instance is the leader.
type manager struct {
	ctrl.Manager

	stop context.CancelFunc
	lost chan error
}

// lose reports that another instance is the leader. Only the first report has an effect.
func (m *manager) lose(reason error) {
	select {
	case m.lost <- reason:
	default:
	}
}

// Start implements ctrl.Manager. When another instance is the leader, it returns without waiting for running
// reconciles, as controller-runtime does when it loses the election. The caller must then end the process.
func (m *manager) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer m.stop()
	defer context.AfterFunc(ctx, m.stop)()
	ended := make(chan error, 1)
	go func() { ended <- m.Manager.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case reason := <-m.lost:
		return reason
	}
}

// A yielding cache lets a manager that is stopped finish its start, so that it can end.
type yielding struct {
	cache.Cache

	stopping context.Context //nolint:containedctx // the life of the manager, which nothing else shows
	passed   atomic.Bool
}

// WaitForCacheSync implements cache.Cache. The first call without a deadline comes from the manager itself, before it
// starts any reader of the cache. If the manager is stopped, only that call returns true although the cache is not
// synced.
func (c *yielding) WaitForCacheSync(ctx context.Context) bool {
	if _, bounded := ctx.Deadline(); bounded || c.passed.Swap(true) {
		return c.Cache.WaitForCacheSync(ctx)
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	return c.Cache.WaitForCacheSync(within) || c.stopping.Err() != nil
}

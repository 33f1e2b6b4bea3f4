// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// New is ctrl.NewManager for a manager that can be stopped at any time. One of
// controller-runtime (v0.25) that has to stop before its caches are filled,
// because the API server is away or refuses to list, waits for them for ever, at
// full speed. o.NewCache must not be set.
func New(config *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	stopping, stop := context.WithCancel(context.Background())
	o.NewCache = func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		inner, err := cache.New(config, o)
		if err != nil {
			return nil, fmt.Errorf("make a cache: %w", err)
		}
		return &yielding{Cache: inner, stopping: stopping}, nil
	}
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		stop()
		return nil, err //nolint:wrapcheck // the caller says whose manager it is
	}
	return &manager{Manager: mgr, stop: stop}, nil
}

// A manager signals its cache when it is to stop.
type manager struct {
	ctrl.Manager

	stop context.CancelFunc
}

// Start implements ctrl.Manager.
func (m *manager) Start(ctx context.Context) error {
	defer m.stop()
	defer context.AfterFunc(ctx, m.stop)()
	return m.Manager.Start(ctx) //nolint:wrapcheck // its errors are the manager's own
}

// A yielding cache lets a manager that is to stop begin, so that it can end.
type yielding struct {
	cache.Cache

	stopping context.Context //nolint:containedctx // the life of the manager, which nothing else shows
	passed   atomic.Bool
}

// WaitForCacheSync implements cache.Cache. The first call that may wait for ever
// is that of the manager itself, which starts nothing that reads before: when the
// manager is to stop, that call alone returns as if the cache were filled, though it
// is not.
func (c *yielding) WaitForCacheSync(ctx context.Context) bool {
	if _, bounded := ctx.Deadline(); bounded || c.passed.Swap(true) {
		return c.Cache.WaitForCacheSync(ctx)
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	return c.Cache.WaitForCacheSync(within) || c.stopping.Err() != nil
}

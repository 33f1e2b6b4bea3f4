// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// errEnded is the error of a Component that ended without being stopped.
var errEnded = errors.New("unexpected exit")

// work is the function that a Component runs. It calls ready once, when it works, and returns when ctx ends.
// It registers new metrics at each start.
type work func(ctx context.Context, metrics prometheus.Registerer, ready func()) error

// Component is a part of the system that can be stopped and started separately, as if it were a process.
type Component struct {
	name string
	work work

	mu      sync.Mutex // guards current; held during start and stop
	current *running
}

// running is one run of a Component.
type running struct {
	cancel  context.CancelFunc
	metrics *prometheus.Registry
	ready   chan struct{}
	done    chan struct{}
	err     error // the result, readable once done is closed
}

func newComponent(name string, w work) *Component { return &Component{name: name, work: w} }

// Name is the component's name in messages.
func (c *Component) Name() string { return c.name }

// Start starts the component and returns when it works, or an error if it does not. The component runs until
// Stop, not until ctx ends. Starting a running component does nothing.
func (c *Component) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		return nil
	}
	r := c.launch(context.WithoutCancel(ctx))
	select {
	case <-r.ready:
		c.current = r
		return nil
	case <-r.done:
		r.cancel()
		if r.err == nil {
			r.err = errEnded
		}
		return fmt.Errorf("%s did not start: %w", c.name, r.err)
	case <-ctx.Done():
		r.cancel()
		<-r.done
		return fmt.Errorf("%s was not ready in time: %w", c.name, errors.Join(context.Cause(ctx), r.err))
	}
}

func (c *Component) launch(ctx context.Context) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{
		cancel: cancel, metrics: prometheus.NewRegistry(), ready: make(chan struct{}), done: make(chan struct{}),
	}
	go func() {
		defer close(r.done)
		r.err = c.work(ctx, r.metrics, sync.OnceFunc(func() { close(r.ready) }))
		if ctx.Err() != nil && errors.Is(r.err, context.Canceled) {
			r.err = nil
		}
	}()
	return r
}

// Stop ends the component and returns its error when it has ended. Stop does nothing if the component is not
// running or nil.
func (c *Component) Stop() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	r := c.current
	c.current = nil
	r.cancel()
	<-r.done
	if r.err != nil {
		return fmt.Errorf("%s failed: %w", c.name, r.err)
	}
	return nil
}

// Done returns a channel that is closed when the component ends, or nil if the component is not running. After
// the component has ended, Stop returns its error.
func (c *Component) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	return c.current.done
}

// Gather returns the metrics of the running component, or none if it is not running.
func (c *Component) Gather() *prometheus.Registry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return prometheus.NewRegistry()
	}
	return c.current.metrics
}

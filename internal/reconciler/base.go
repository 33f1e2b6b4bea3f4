// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/cooper-cosi/cooper/internal/metrics"
)

const (
	// DefaultResync is the Resync of Options that set none.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is the Workers of Options that set none.
	DefaultWorkers = 10
)

// Options says how a component works.
type Options struct {
	// Component is "controller" or "sidecar", in metrics and Events.
	Component string
	// Name is added to the names of the component's parts in logs, for
	// processes that run several; empty adds nothing.
	Name string
	// Scope limits the component to the objects of some namespaces.
	Scope Scope
	// Registerer gets the metrics; it is required.
	Registerer prometheus.Registerer
	// Resync is the longest time between two looks at an object that nobody
	// changed, made longer at random by up to a fifth. Zero means
	// DefaultResync.
	Resync time.Duration
	// Workers is the number of objects of one kind that are worked on at a
	// time. Zero means DefaultWorkers.
	Workers int
	// Backoff bounds the wait after a failure.
	Backoff BackoffOptions
	// TracerProvider gets a span for each reconcile and its steps; nil means
	// OpenTelemetry's global one.
	TracerProvider trace.TracerProvider
}

// A Base is what the reconciler of one kind embeds.
type Base struct {
	Store

	// Kind is one of the Kind constants of package metrics.
	Kind string
	// Options are those of the component, with the defaults filled in.
	Options Options
	// Events reports to users.
	Events EventRecorder
	// Metrics gets the operations on the objects.
	Metrics *metrics.Controller
	// Runner runs the steps.
	Runner *Runner
	// Now is the clock.
	Now func() time.Time
}

// New returns a function that makes the Base of each kind that a component
// reconciles with a manager.
func New(mgr ctrl.Manager, o Options) (func(kind string) Base, error) {
	if o.Registerer == nil {
		return nil, errors.New("Options.Registerer is not set: pass the registry that is scraped")
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	operations, err := metrics.NewController(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("metrics of operations: %w", err)
	}
	steps, err := metrics.NewSteps(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("metrics of steps: %w", err)
	}
	recorder := EventRecorder{Events: mgr.GetEventRecorder("cosi-" + o.Component)}
	return func(kind string) Base {
		run := NewRunner(RunnerOptions{
			Component: o.Component, Kind: kind, Resync: o.Resync, Backoff: o.Backoff, Steps: steps, Events: recorder, TracerProvider: o.TracerProvider,
		})
		return Base{
			Store: NewStore(mgr.GetClient(), mgr.GetAPIReader()), Kind: kind, Options: o,
			Events: recorder, Metrics: operations, Runner: run, Now: time.Now,
		}
	}, nil
}

// Controller returns the options of the controller of this kind. They leave
// out the check for unique names: it is global to the process, and a manager
// that was stopped would keep its names forever.
func (b Base) Controller() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: b.Options.Workers,
		RateLimiter:             b.Runner.Limiter(),
		SkipNameValidation:      ptr.To(true),
	}
}

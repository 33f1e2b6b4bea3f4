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
	// DefaultResync is the resync period of Options that set none.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is the number of workers of Options that set none.
	DefaultWorkers = 10
)

// Options configure the reconcilers of one component.
type Options struct {
	// Component is "controller" or "sidecar", as shown in metrics and Events.
	Component string
	// Name is appended to the names of the component's parts in logs, for processes that run several components.
	Name string
	// Scope restricts the component to the objects of some namespaces.
	Scope Scope
	// Registerer registers the metrics. Required.
	Registerer prometheus.Registerer
	// Resync is the maximum time between two reconciles of an unchanged object, before jitter of up to a fifth. Zero
	// means DefaultResync.
	Resync time.Duration
	// Workers is the number of concurrent reconciles per kind. Zero means DefaultWorkers.
	Workers int
	// Backoff limits the delay after a failure.
	Backoff BackoffOptions
	// TracerProvider creates a span for each reconcile and its steps. Nil means OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
}

// A Base has the dependencies of the reconciler of one kind. Reconcilers embed it.
type Base struct {
	Store

	// Kind is one of the Kind constants of package metrics.
	Kind string
	// Options are the options of the component, with defaults applied.
	Options Options
	// Events emits Events for users.
	Events EventRecorder
	// Metrics records the operations on the objects.
	Metrics *metrics.Controller
	// Runner runs the steps.
	Runner *Runner
	// Now is the clock.
	Now func() time.Time
}

// New returns a function that creates the Base for a kind. A component calls it for each kind that it reconciles with
// the manager.
func New(mgr ctrl.Manager, o Options) (func(kind string) Base, error) {
	if o.Registerer == nil {
		return nil, errors.New("Options.Registerer is not set: pass the registry that /metrics serves")
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	operations, err := metrics.NewController(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of operations: %w", err)
	}
	steps, err := metrics.NewSteps(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of steps: %w", err)
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

// Controller returns the options of the controller of this kind. They disable controller-runtime's check for unique
// controller names. This check is global to the process and would reserve the names of a stopped manager forever.
func (b Base) Controller() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: b.Options.Workers,
		RateLimiter:             b.Runner.Limiter(),
		SkipNameValidation:      ptr.To(true),
	}
}

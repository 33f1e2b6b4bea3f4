// SPDX-License-Identifier: Apache-2.0

// Package controller is the COSI Controller. It binds BucketClaims to Buckets
// and hands BucketAccesses over to the sidecar of their driver, for all
// drivers of a cluster. It works on Kubernetes objects only: it must not make
// an RPC, nor import proto or sidecar.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/cooper-cosi/cooper/controller/internal/bucketaccess"
	"github.com/cooper-cosi/cooper/controller/internal/bucketclaim"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/kit"
	"github.com/cooper-cosi/cooper/controller/internal/sidecars"
	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/scope"
)

const (
	// DefaultResync is the Resync of Options that set none.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is the Workers of Options that set none.
	DefaultWorkers = 10
	// DefaultPatience is the Patience of Options that set none.
	DefaultPatience = 20 * time.Second
	// component is the name of the Controller in metrics and Events.
	component = "controller"
)

// Options says how a Controller works.
type Options struct {
	// Scope limits the Controller to the claims and accesses of some
	// namespaces, and to the Buckets of those claims. The zero value is all.
	Scope scope.Scope
	// Registerer gets the metrics; it is required.
	Registerer prometheus.Registerer
	// Name is added to the names of the parts of the Controller in logs, for
	// processes that run several; empty adds nothing.
	Name string
	// Resync is the longest time between two looks at an object that nobody
	// changed, made longer at random by up to a fifth. Zero means
	// DefaultResync.
	Resync time.Duration
	// Workers is the number of claims, and of accesses, worked on at a time.
	// Zero means DefaultWorkers.
	Workers int
	// Patience is how long an object may wait for the deletion of other objects
	// or for a sidecar before its conditions say so: as a rule it is over before
	// that is worth a write. Zero means DefaultPatience.
	Patience time.Duration
	// SidecarNamespace is the namespace of the Leases of the sidecars, by which
	// the Controller tells users that no sidecar of their driver is at work. It
	// needs the right to get them. Empty means that nothing is known of sidecars.
	SidecarNamespace string
	// Backoff bounds the wait after a failure of the Kubernetes API.
	Backoff backoff.Options
	// TracerProvider gets a span for each reconcile and its steps; nil means
	// OpenTelemetry's global one.
	TracerProvider trace.TracerProvider
}

// Add adds the Controller to a manager, whose scheme must know the kinds of
// api/v1alpha2. A manager takes one Controller. It fails if the options are
// incomplete or the manager does not accept a part of the Controller.
func Add(mgr ctrl.Manager, o Options) error {
	if o.Registerer == nil {
		return errors.New("controller: Options.Registerer is not set: pass the registry that is scraped")
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if err := index.Register(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	operations, err := metrics.NewController(o.Registerer)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	steps, err := metrics.NewSteps(o.Registerer)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	p := parts{mgr: mgr, options: o, operations: operations, steps: steps, events: events.Recorder{Events: mgr.GetEventRecorder("cosi-" + component)}}
	if err := p.addClaims(); err != nil {
		return fmt.Errorf("controller: add the reconciler of BucketClaims: %w", err)
	}
	if err := p.addAccesses(); err != nil {
		return fmt.Errorf("controller: add the reconciler of BucketAccesses: %w", err)
	}
	return nil
}

// parts is what the reconcilers of one Controller share.
type parts struct {
	mgr        ctrl.Manager
	options    Options
	operations *metrics.Controller
	steps      *metrics.Steps
	events     events.Recorder
}

func (p parts) addClaims() error {
	run := p.runner(metrics.KindBucketClaim)
	return bucketclaim.New(p.kit(run)).Watch(p.mgr, p.name("bucketclaim"), p.controllerOptions(run))
}

func (p parts) addAccesses() error {
	run := p.runner(metrics.KindBucketAccess)
	return bucketaccess.New(p.kit(run)).Watch(p.mgr, p.name("bucketaccess"), p.controllerOptions(run))
}

func (p parts) kit(run *runner.Runner) kit.Kit {
	return kit.Kit{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Scope: p.options.Scope,
		Events: p.events, Metrics: p.operations, Runner: run, Patience: p.options.Patience,
		Sidecars: sidecars.Leases{Live: p.mgr.GetAPIReader(), Namespace: p.options.SidecarNamespace},
	}
}

func (p parts) runner(kind string) *runner.Runner {
	return runner.New(runner.Options{
		Component: component, Kind: kind, Resync: p.options.Resync, Backoff: p.options.Backoff, Steps: p.steps, Events: p.events,
		TracerProvider: p.options.TracerProvider,
	})
}

func (p parts) name(kind string) string {
	if p.options.Name == "" {
		return kind
	}
	return kind + "-" + p.options.Name
}

// controllerOptions leaves the check for unique names out: it is global to the
// process, and a manager that was stopped would keep its names forever.
func (p parts) controllerOptions(r *runner.Runner) ctrlcontroller.Options {
	return ctrlcontroller.Options{
		MaxConcurrentReconciles: p.options.Workers,
		RateLimiter:             r.Limiter(),
		SkipNameValidation:      ptr.To(true),
	}
}

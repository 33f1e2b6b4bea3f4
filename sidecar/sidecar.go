// SPDX-License-Identifier: Apache-2.0

// Package sidecar is the COSI Sidecar of one driver: it provisions the Buckets
// and BucketAccesses of that driver by RPCs to it, and writes the access
// Secrets. It must not read BucketClaims or classes, delete Buckets or
// BucketAccesses, nor know any particular driver.
//
// Connect finds the driver, NewManager makes the process around the sidecar,
// and Add puts the sidecar into a manager of one's own.
package sidecar

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

	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/scope"
	"github.com/cooper-cosi/cooper/internal/written"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/objects"
	"github.com/cooper-cosi/cooper/sidecar/internal/turn"
	"github.com/cooper-cosi/cooper/sidecar/internal/wake"
)

const (
	// DefaultResync is the Resync of Options that set none.
	DefaultResync = 10 * time.Minute
	// DefaultWorkers is the Workers of Options that set none.
	DefaultWorkers = 10
	// DefaultSecretPoll is the SecretPoll of Options that set none.
	DefaultSecretPoll = 30 * time.Second
	// DefaultRegrantInterval is what cmd/cosi-sidecar sets as RegrantInterval
	// by default; in Options zero means never.
	DefaultRegrantInterval = 24 * time.Hour

	// component is the name of the Sidecar in metrics and Events.
	component = "sidecar"
	// apiTime is how long a step may take beside its call to the driver.
	apiTime = 30 * time.Second
)

// Options says how a Sidecar works.
type Options struct {
	// Driver is the driver that it serves; it is required.
	Driver *Driver
	// Scope limits the Sidecar to the accesses of some namespaces, and to the
	// Buckets of claims in them. The zero value is all.
	Scope scope.Scope
	// Registerer gets the metrics; it is required.
	Registerer prometheus.Registerer
	// Name is added to the names of the parts of the Sidecar in logs; empty
	// means the name of the driver.
	Name string
	// Resync is the longest time between two looks at an object that nobody
	// changed, made longer at random by up to a fifth. Zero means
	// DefaultResync.
	Resync time.Duration
	// Workers is the number of Buckets, and of accesses, worked on at a time.
	// Zero means DefaultWorkers.
	Workers int
	// Backoff bounds the wait after a failure of the driver or of the
	// Kubernetes API.
	Backoff backoff.Options
	// SecretPoll is how often an access that waits for a Secret looks again.
	// Zero means DefaultSecretPoll.
	SecretPoll time.Duration
	// RegrantInterval is how often each access is granted anew although nothing
	// changed, made longer at random by up to a fifth. Zero means never.
	RegrantInterval time.Duration
	// WatchSecrets makes changes of Secrets known at once. It needs the right
	// to list and watch all Secrets in scope.
	WatchSecrets bool
	// TracerProvider gets a span for each reconcile and its steps; nil means
	// OpenTelemetry's global one. Those of the calls to the driver, within
	// them, go to the TracerProvider of ConnectOptions.
	TracerProvider trace.TracerProvider
}

// Add adds the Sidecar to a manager, whose scheme must know the kinds of
// api/v1alpha2 and whose cache should be limited by CacheOptions. A manager
// takes one Sidecar.
func Add(mgr ctrl.Manager, o Options) error {
	if o.Registerer == nil {
		return errors.New("sidecar: Options.Registerer is not set: pass the registry that is scraped")
	}
	if o.Driver == nil {
		return errors.New("sidecar: Options.Driver is not set: pass what Connect returned")
	}
	p, err := newParts(mgr, withDefaults(o))
	if err != nil {
		return fmt.Errorf("sidecar: %w", err)
	}
	if err := p.indexes(context.Background()); err != nil {
		return fmt.Errorf("sidecar: %w", err)
	}
	if err := p.addBuckets(); err != nil {
		return fmt.Errorf("sidecar: add the reconciler of Buckets: %w", err)
	}
	if err := p.addAccesses(); err != nil {
		return fmt.Errorf("sidecar: add the reconciler of BucketAccesses: %w", err)
	}
	if err := mgr.Add(p.driverWatcher()); err != nil {
		return fmt.Errorf("sidecar: watch the driver: %w", err)
	}
	return nil
}

func withDefaults(o Options) Options {
	if o.Name == "" {
		o.Name = o.Driver.Name()
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.SecretPoll == 0 {
		o.SecretPoll = DefaultSecretPoll
	}
	return o
}

// parts is what the reconcilers of one Sidecar share.
type parts struct {
	mgr        ctrl.Manager
	options    Options
	operations *metrics.Controller
	steps      *metrics.Steps
	events     events.Recorder
	inFlight   *inflight.Keys
	buckets    *wake.Bell
	accesses   *wake.Bell
}

func newParts(mgr ctrl.Manager, o Options) (*parts, error) {
	operations, err := metrics.NewController(o.Registerer)
	if err != nil {
		return nil, err
	}
	steps, err := metrics.NewSteps(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &parts{
		mgr: mgr, options: o, operations: operations, steps: steps,
		events:   events.Recorder{Events: mgr.GetEventRecorder("cosi-" + component)},
		inFlight: &inflight.Keys{}, buckets: &wake.Bell{}, accesses: &wake.Bell{},
	}, nil
}

func (p *parts) addBuckets() error {
	run := p.runner(metrics.KindBucket)
	return p.watchBuckets(run, &bucket.Reconciler{
		Calls: p.calls(turn.Calls{Kind: metrics.KindBucket, Bell: p.buckets, Asks: bucket.Asks, Same: bucket.SameOrder}),
		Cache: p.mgr.GetClient(), Driver: p.options.Driver.conn, Info: p.options.Driver.conn.Info,
		Scope: p.options.Scope, Runner: run,
		Events: p.events, Metrics: p.operations, Now: time.Now, StepLimit: p.stepLimit(),
	})
}

func (p *parts) addAccesses() error {
	run := p.runner(metrics.KindBucketAccess)
	return p.watchAccesses(run, &bucketaccess.Reconciler{
		Calls: p.calls(turn.Calls{Kind: metrics.KindBucketAccess, Bell: p.accesses, Asks: bucketaccess.Asks, Same: bucketaccess.SameOrder}),
		Cache: p.mgr.GetClient(), Driver: p.options.Driver.conn, Info: p.options.Driver.conn.Info,
		Secrets: bucketaccess.Secrets{Writer: p.mgr.GetClient(), Live: p.mgr.GetAPIReader()},
		Scope:   p.options.Scope, Runner: run,
		Schedule: &bucketaccess.Schedule{Interval: p.options.RegrantInterval}, SecretPoll: p.options.SecretPoll,
		Events: p.events, Metrics: p.operations, Now: time.Now, StepLimit: p.stepLimit(),
	})
}

// stepLimit bounds a step: a call to the driver and its record in the API.
func (p *parts) stepLimit() time.Duration { return p.options.Driver.deadline + apiTime }

// calls completes what the reconcilers of one kind share.
func (p *parts) calls(of turn.Calls) turn.Calls {
	of.Store, of.InFlight, of.Attempts = p.store(), p.inFlight, p.ledger()
	return of
}

func (p *parts) store() objects.Store {
	return objects.Store{Writer: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Written: &written.Log{}}
}

func (p *parts) ledger() *attempts.Ledger {
	return attempts.NewLedger(attempts.Options{Backoff: p.options.Backoff, Resync: p.options.Resync})
}

func (p *parts) runner(kind string) *runner.Runner {
	return runner.New(runner.Options{
		Component: component, Kind: kind, Resync: p.options.Resync, Backoff: p.options.Backoff, Steps: p.steps, Events: p.events,
		TracerProvider: p.options.TracerProvider,
	})
}

// controllerOptions leaves the check for unique names out: it is global to the
// process, and a manager that was stopped would keep its names forever.
func (p *parts) controllerOptions(run *runner.Runner) ctrlcontroller.Options {
	return ctrlcontroller.Options{
		MaxConcurrentReconciles: p.options.Workers,
		RateLimiter:             run.Limiter(),
		SkipNameValidation:      ptr.To(true),
	}
}

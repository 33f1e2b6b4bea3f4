// SPDX-License-Identifier: Apache-2.0

// Package sidecar is the COSI Sidecar of one driver. It provisions the Buckets and BucketAccesses of the driver by RPCs
// to the driver, and writes the access Secrets. It never reads BucketClaims or classes, and never deletes Buckets or
// BucketAccesses.
//
// Connect connects to the driver. NewManager returns the manager that cmd/cosi-sidecar runs. Add adds the sidecar to
// another manager.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

const (
	// DefaultResync is the resync period of Options that set none.
	DefaultResync = reconciler.DefaultResync
	// DefaultWorkers is the number of workers of Options that set none. Workers wait for the driver most of the time.
	DefaultWorkers = 40
	// DefaultSecretPoll is the SecretPoll of Options that set none.
	DefaultSecretPoll = 30 * time.Second
	// DefaultRegrantInterval is the default of RegrantInterval in cmd/cosi-sidecar. In Options, zero means never.
	DefaultRegrantInterval = 24 * time.Hour

	// DefaultRegrantRate is the RegrantRate of Options that set none.
	DefaultRegrantRate = 5

	// classShare determines the share of the workers for calls with the same parameters: a quarter.
	classShare = 4
	// component is the name of the Sidecar in metrics and Events.
	component = "sidecar"
	// apiTime is how long a step may take in addition to its call to the driver.
	apiTime = 30 * time.Second
)

// Options configure a Sidecar.
type Options struct {
	// Driver is the driver to serve. Required.
	Driver *Driver
	// Scope restricts the Sidecar to the accesses of some namespaces and to the Buckets of claims in them. The zero
	// value includes all.
	Scope reconciler.Scope
	// Registerer registers the metrics. Required.
	Registerer prometheus.Registerer
	// Name is appended to the names of the Sidecar's parts in logs. Empty means the name of the driver.
	Name string
	// Resync is the maximum time between two reconciles of an unchanged object, extended at random by up to a fifth. Zero
	// means DefaultResync.
	Resync time.Duration
	// Workers is the number of Buckets, and of accesses, that are reconciled at the same time. Zero means DefaultWorkers. At
	// most a quarter of them, and at least one, process objects of one class, so that a backend that hangs does not stop
	// the others.
	Workers int
	// Backoff limits the delay after a failure of the driver or of the Kubernetes API.
	Backoff reconciler.BackoffOptions
	// SecretPoll is the interval at which an access that waits for a Secret checks it again. Zero means DefaultSecretPoll.
	SecretPoll time.Duration
	// RegrantInterval is the time between two grants of an unchanged access, extended at random by up to a fifth. Zero means
	// never.
	RegrantInterval time.Duration
	// RegrantRate is the maximum number of background grants per second, for example after a change of the driver. Zero
	// means DefaultRegrantRate.
	RegrantRate float64
	// WatchSecrets watches access Secrets, so that changes are repaired at once. It needs the right to list and watch all
	// Secrets in scope.
	WatchSecrets bool
	// TracerProvider creates a span for each reconcile and its steps. Nil means OpenTelemetry's global provider. The
	// spans of calls to the driver use the TracerProvider of ConnectOptions.
	TracerProvider trace.TracerProvider
}

// Add adds the Sidecar to a manager. The manager's scheme must have the kinds of api/v1alpha2. Limit the manager's
// cache with CacheOptions. A manager takes only one Sidecar.
func Add(mgr ctrl.Manager, o Options) error {
	if o.Driver == nil {
		return errors.New("sidecar: Options.Driver is not set: pass the result of Connect")
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
	if o.SecretPoll == 0 {
		o.SecretPoll = DefaultSecretPoll
	}
	if o.RegrantRate == 0 {
		o.RegrantRate = DefaultRegrantRate
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	return o
}

// parts are the components of a Sidecar.
type parts struct {
	mgr      ctrl.Manager
	options  Options
	buckets  scheduling.Caller
	accesses scheduling.Caller
	memory   *bucketaccess.Memory
	measured *metrics.Sidecars
}

func newParts(mgr ctrl.Manager, o Options) (*parts, error) {
	of, err := reconciler.New(mgr, reconciler.Options{
		Component: component, Name: o.Name, Scope: o.Scope, Registerer: o.Registerer,
		Resync: o.Resync, Workers: o.Workers, Backoff: o.Backoff, TracerProvider: o.TracerProvider,
	})
	if err != nil {
		return nil, err
	}
	inFlight := &inflight.Keys{} // for both kinds: a call about an access uses its buckets
	caller := func(b reconciler.Base) scheduling.Caller {
		return scheduling.Caller{
			Base: b, Info: o.Driver.conn.Info, InFlight: inFlight, Shares: &inflight.Shares{PerPool: max(1, o.Workers/classShare)},
			History: scheduling.NewHistory(b.Options.Backoff, b.Options.Resync), Trigger: &scheduling.Trigger{}, StepLimit: o.Driver.deadline + apiTime,
		}
	}
	p := &parts{
		mgr: mgr, options: o, buckets: caller(of(metrics.KindBucket)), accesses: caller(of(metrics.KindBucketAccess)),
		memory: bucketaccess.NewMemory(o.RegrantInterval, o.RegrantRate),
	}
	if p.measured, err = metrics.NewSidecars(o.Registerer, o.Driver.Name(), p.state); err != nil {
		return nil, err
	}
	return p, nil
}

// state returns the values of the sidecar's own metrics.
func (p *parts) state() metrics.SidecarState {
	s := metrics.SidecarState{}
	s.Renewal, s.Expiry = p.memory.NextExpiry()
	select {
	case <-p.mgr.Elected():
		s.Active = p.options.Driver.Connected() == nil
	default:
	}
	return s
}

func (p *parts) addBuckets() error {
	return p.watchBuckets(&bucket.Reconciler{Caller: p.buckets, Driver: p.options.Driver.conn})
}

func (p *parts) addAccesses() error {
	secrets := bucketaccess.NewSecrets(p.accesses.Client, p.accesses.Live, p.options.Driver.Name())
	if p.options.WatchSecrets {
		if err := p.watchSecrets(secrets); err != nil {
			return err
		}
	}
	return p.watchAccesses(&bucketaccess.Reconciler{
		Caller: p.accesses, Driver: p.options.Driver.conn, Secrets: secrets, Memory: p.memory,
		Regranted:    func(reason string) { p.measured.Regranted(p.options.Driver.Name(), reason) },
		WatchSecrets: p.options.WatchSecrets, SecretPoll: p.options.SecretPoll,
	})
}

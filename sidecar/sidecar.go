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
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/internal/backoff"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/scope"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/proof"
)

const (
	// DefaultResync is the Resync of Options that set none.
	DefaultResync = kit.DefaultResync
	// DefaultWorkers is the Workers of Options that set none. Nearly all of the time
	// they wait for the driver.
	DefaultWorkers = 40
	// DefaultSecretPoll is the SecretPoll of Options that set none.
	DefaultSecretPoll = 30 * time.Second
	// DefaultRegrantInterval is what cmd/cosi-sidecar sets as RegrantInterval
	// by default; in Options zero means never.
	DefaultRegrantInterval = 24 * time.Hour

	// DefaultRegrantRate is the RegrantRate of Options that set none.
	DefaultRegrantRate = 5

	// classShare is the part of the workers that calls with the same parameters get.
	classShare = 4
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
	// Zero means DefaultWorkers. A quarter of them, and at least one, work on objects
	// of one class at a time, so that a backend that hangs does not stop the others.
	Workers int
	// Backoff bounds the wait after a failure of the driver or of the
	// Kubernetes API.
	Backoff backoff.Options
	// SecretPoll is how often an access that waits for a Secret looks again.
	// Zero means DefaultSecretPoll.
	SecretPoll time.Duration
	// RegrantInterval is how often each access is granted again although nothing
	// changed, made longer at random by up to a fifth. Zero means never.
	RegrantInterval time.Duration
	// RegrantRate is how many accesses a second are granted again at most that nobody
	// asked for, such as after a change of the driver. Zero means DefaultRegrantRate.
	RegrantRate float64
	// WatchSecrets makes changes of Secrets known at once. It needs the right
	// to list and watch all Secrets in scope.
	WatchSecrets bool
	// Namespace is the Sidecar's own. It keeps the key there by which it knows the
	// access Secrets that it wrote, so that it can clean up behind accesses that
	// were removed while no Sidecar ran. Empty means that it does not.
	Namespace string
	// TracerProvider gets a span for each reconcile and its steps; nil means
	// OpenTelemetry's global one. Those of the calls to the driver, within
	// them, go to the TracerProvider of ConnectOptions.
	TracerProvider trace.TracerProvider
}

// Add adds the Sidecar to a manager, whose scheme must know the kinds of
// api/v1alpha2 and whose cache should be limited by CacheOptions. A manager
// takes one Sidecar.
func Add(mgr ctrl.Manager, o Options) error {
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

// parts are what a Sidecar is made of.
type parts struct {
	mgr      ctrl.Manager
	options  Options
	buckets  calls.Kit
	accesses calls.Kit
	departed *bucketaccess.Departed
	expiries *bucketaccess.Expiries
	measured *metrics.Sidecars
}

func newParts(mgr ctrl.Manager, o Options) (*parts, error) {
	of, err := kit.New(mgr, kit.Options{
		Component: component, Name: o.Name, Scope: o.Scope, Registerer: o.Registerer,
		Resync: o.Resync, Workers: o.Workers, Backoff: o.Backoff, TracerProvider: o.TracerProvider,
	})
	if err != nil {
		return nil, err
	}
	inFlight := &inflight.Keys{} // for both kinds: a call about an access uses its buckets
	forCalls := func(k kit.Kit) calls.Kit {
		return calls.Kit{
			Kit: k, Info: o.Driver.conn.Info, InFlight: inFlight, Shares: &inflight.Shares{PerClass: max(1, o.Workers/classShare)},
			Given: &calls.IDs{}, Failures: calls.NewFailures(k.Options.Backoff, k.Options.Resync),
			Trigger: &calls.Trigger{}, StepLimit: o.Driver.deadline + apiTime,
		}
	}
	p := &parts{
		mgr: mgr, options: o, buckets: forCalls(of(metrics.KindBucket)), accesses: forCalls(of(metrics.KindBucketAccess)),
		departed: &bucketaccess.Departed{}, expiries: &bucketaccess.Expiries{},
	}
	if p.measured, err = metrics.NewSidecars(o.Registerer, o.Driver.Name(), p.state); err != nil {
		return nil, err
	}
	return p, nil
}

// state is what the metrics say of this sidecar.
func (p *parts) state() metrics.SidecarState {
	s := metrics.SidecarState{}
	s.Renewal, s.Expiry = p.expiries.First()
	select {
	case <-p.mgr.Elected():
		s.Active = p.options.Driver.Connected() == nil
	default:
	}
	return s
}

func (p *parts) addBuckets() error {
	return p.watchBuckets(&bucket.Reconciler{Kit: p.buckets, Driver: p.options.Driver.conn})
}

func (p *parts) addAccesses() error {
	switch {
	case !p.options.WatchSecrets:
		p.mgr.GetLogger().Info("Secrets may not be listed: what was removed by hand while no sidecar ran is found only when its Secret is in the way")
	case len(p.options.Scope.Namespaces) > 0:
		p.mgr.GetLogger().Info("Not all namespaces are served: what was removed by hand while no sidecar ran is revoked only " +
			"with the right to list the BucketAccesses of all, and reported otherwise")
	}
	key := proof.New(proof.Options{
		Client: p.accesses.Client, Live: p.accesses.Live, Namespace: p.options.Namespace, Driver: p.options.Driver.Name(), Log: p.mgr.GetLogger(),
	})
	secrets := bucketaccess.NewSecrets(p.accesses.Client, p.accesses.Live, bucketaccess.Keeper{
		Driver: p.options.Driver.Name(), Proof: key, Inherit: p.recorded,
	})
	return p.watchAccesses(&bucketaccess.Reconciler{
		Kit: p.accesses, Driver: p.options.Driver.conn, Secrets: secrets, Departed: p.departed,
		Expiries: p.expiries, Regranted: func(reason string) { p.measured.Regranted(p.options.Driver.Name(), reason) },
		InOrder: &bucketaccess.InOrder{}, WatchSecrets: p.options.WatchSecrets,
		SecretPoll: p.options.SecretPoll, Schedule: &bucketaccess.Schedule{
			Interval: p.options.RegrantInterval, Every: time.Duration(float64(time.Second) / p.options.RegrantRate),
		},
	})
}

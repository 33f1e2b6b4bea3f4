// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/preflight"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// LeaseName is the Lease by which the instances of the Controller elect the
// one that works (KEP-1979, "COSI Architecture").
const LeaseName = cosiapi.ControllerLeaseName

// ManagerOptions say how the process around a Controller runs.
type ManagerOptions struct {
	// Controller is what works in the manager.
	Controller Options
	// Logger gets all logs of the manager.
	Logger logr.Logger
	// Metrics say how metrics are served.
	Metrics ctrlmanager.Metrics
	// HealthAddress is a TCP address to listen on, such as ":8081"; empty serves
	// none. Health is served at /healthz and /readyz.
	HealthAddress string
	// PprofAddress is a TCP address that serves profiles of the process at
	// /debug/pprof/; empty serves none. Whoever reaches it sees how the process
	// works, and can slow it down.
	PprofAddress string
	// LeaderNamespace is the namespace of the Lease; empty means that this is the
	// only instance and no Lease is held.
	LeaderNamespace string
	// Lease sets the times of the leader election.
	Lease ctrlmanager.LeaseTimes
	// GracePeriod is how long reconciles that run may take to end after the
	// context of the manager ended. Zero means 30 seconds.
	GracePeriod time.Duration
}

// NewManager returns a manager with a Controller in it, ready to Start. It is
// what cmd/cosi-controller runs, and tests replay crashes with. It fails when
// the API server cannot be reached or lacks the kinds of api/v1alpha2.
func NewManager(config *rest.Config, o ManagerOptions) (ctrl.Manager, error) {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	mapper, err := preflight.Kinds(config, "BucketClass", "BucketClaim", "Bucket", "BucketAccessClass", "BucketAccess")
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		MapperProvider:                mapper,
		Scheme:                        scheme,
		Logger:                        o.Logger,
		Cache:                         cacheOptions(o.Controller),
		Metrics:                       o.Metrics.Options(),
		PprofBindAddress:              o.PprofAddress,
		HealthProbeBindAddress:        ctrlmanager.Address(o.HealthAddress),
		LeaderElection:                o.LeaderNamespace != "",
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       o.LeaderNamespace,
		LeaderElectionReleaseOnCancel: true,
	}
	o.Lease.Apply(&options)
	if o.GracePeriod > 0 {
		options.GracefulShutdownTimeout = &o.GracePeriod
	}
	mgr, err := ctrlmanager.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if err := Add(mgr, o.Controller); err != nil {
		return nil, err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("cache", ctrlmanager.CacheSynced(mgr))); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	return mgr, nil
}

// cacheOptions keeps objects of other namespaces than those in scope out of
// the cache. Buckets have no namespace: all of them are in it.
func cacheOptions(o Options) cache.Options {
	options := cache.Options{DefaultTransform: slim}
	if len(o.Scope.Namespaces) == 0 {
		return options
	}
	options.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range o.Scope.Namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// slim leaves out what this Controller only ever copies or reads from the API server: parameters, which may have the
// size of a class, what the sidecar says of a Bucket, and when that was created. A patch of what is decided on such
// an object leaves it there.
func slim(cached any) (any, error) {
	switch o := cached.(type) {
	case *cosiapi.Bucket:
		o.Spec.Parameters, o.Status.BucketInfo = nil, nil
		delete(o.Annotations, cosiapi.CreatedAnnotation)
		if len(o.Annotations) == 0 {
			o.Annotations = nil
		}
	case *cosiapi.BucketAccess:
		o.Status.Parameters = nil
	}
	return reconciler.Slim(cached)
}

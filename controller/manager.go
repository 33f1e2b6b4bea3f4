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

// LeaseName is the name of the Lease for the leader election of the Controller (KEP-1979, "COSI Architecture").
const LeaseName = cosiapi.ControllerLeaseName

// ManagerOptions configure the process of a Controller.
type ManagerOptions struct {
	// Controller configures the Controller.
	Controller Options
	// Logger receives all logs of the manager.
	Logger logr.Logger
	// Metrics configure the metrics endpoint.
	Metrics ctrlmanager.Metrics
	// HealthAddress is the TCP bind address of /healthz and /readyz, such as ":8081". Empty disables them.
	HealthAddress string
	// PprofAddress is the TCP bind address of the profiles at /debug/pprof/. Empty disables them. Clients that can
	// reach it can inspect the process and slow it down.
	PprofAddress string
	// LeaderNamespace is the namespace of the Lease. Empty disables leader election.
	LeaderNamespace string
	// Lease configures the times of the leader election.
	Lease ctrlmanager.LeaseTimes
	// GracePeriod is how long running reconciles may take to finish after the manager's context is cancelled. Zero
	// means 30 seconds.
	GracePeriod time.Duration
}

// NewManager returns a manager with a Controller, ready to Start. cmd/cosi-controller runs it, and tests use it to
// replay crashes. It fails if the API server is unreachable or lacks the kinds of api/v1alpha2.
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

// cacheOptions restricts the cache to the namespaces in scope. Buckets are cluster-scoped, so all of them are cached.
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

// slim removes data that this Controller only copies or reads from the API server: parameters, which may be as large
// as in a class, and their changes, the sidecar's bucketInfo of a Bucket, and its creation time. A patch that is computed
// from such an object does not touch them.
func slim(cached any) (any, error) {
	switch o := cached.(type) {
	case *cosiapi.Bucket:
		o.Spec.Parameters, o.Status.BucketInfo = nil, nil
		for _, key := range []string{cosiapi.CreatedAnnotation, cosiapi.ParameterChangesAnnotation, cosiapi.ParameterChangesResultAnnotation} {
			delete(o.Annotations, key)
		}
		if len(o.Annotations) == 0 {
			o.Annotations = nil
		}
	case *cosiapi.BucketAccess:
		o.Status.Parameters = nil
	}
	return reconciler.Slim(cached)
}

// SPDX-License-Identifier: Apache-2.0

// Package obc implements ObjectBucketClaims, an older API for buckets, with COSI's own objects. For each
// ObjectBucketClaim it creates a BucketClaim and a BucketAccess, and the ConfigMap, Secret and ObjectBucket that
// applications expect. It makes no RPC and uses only the COSI objects that users and administrators can write, so it
// works with every driver.
package obc

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/preflight"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// LeaseName is the name of the Lease for leader election.
const LeaseName = "cosi-obc"

// Options configure the controller of ObjectBucketClaims and its manager.
type Options struct {
	// Scope restricts the controller to the claims of some namespaces.
	Scope reconciler.Scope
	// Registerer registers the metrics. Required.
	Registerer prometheus.Registerer
	// Name is appended to the controller's name in logs.
	Name string
	// Resync is the maximum time between two reconciles of an unchanged claim. Zero means reconciler.DefaultResync.
	Resync time.Duration
	// Workers is the number of concurrent reconciles. Zero means reconciler.DefaultWorkers.
	Workers int
	// Backoff limits the delay after a failed request to the API server.
	Backoff reconciler.BackoffOptions
	// Logger receives all logs.
	Logger logr.Logger
	// Metrics configure the metrics endpoint.
	Metrics ctrlmanager.Metrics
	// HealthAddress is the TCP bind address of the health endpoint. Empty disables it.
	HealthAddress string
	// LeaderNamespace is the namespace of the Lease. Empty disables leader election.
	LeaderNamespace string
	// WrapClient, if set, wraps the controller's client.
	WrapClient func(client.Client) client.Client
}

// NewManager returns a manager that serves ObjectBucketClaims, ready to Start. It fails if the API server is
// unreachable or does not serve one of the kinds.
func NewManager(config *rest.Config, o Options) (ctrl.Manager, error) {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return nil, fmt.Errorf("obc: %w", err)
	}
	provider, err := kindsOf(config)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		MapperProvider:                provider,
		Scheme:                        scheme,
		Logger:                        o.Logger,
		Cache:                         cacheOptions(o.Scope),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                       o.Metrics.Options(),
		HealthProbeBindAddress:        ctrlmanager.Address(o.HealthAddress),
		LeaderElection:                o.LeaderNamespace != "",
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       o.LeaderNamespace,
		LeaderElectionReleaseOnCancel: true,
	}
	if o.WrapClient != nil {
		options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.New(config, options)
			if err != nil {
				return nil, fmt.Errorf("create a client for the API server: %w", err)
			}
			return o.WrapClient(c), nil
		}
	}
	mgr, err := ctrlmanager.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("obc: %w", err)
	}
	if err := o.add(mgr); err != nil {
		return nil, fmt.Errorf("obc: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("cache", ctrlmanager.CacheSynced(mgr))); err != nil {
		return nil, fmt.Errorf("obc: %w", err)
	}
	return mgr, nil
}

// kindsOf fails unless the API server serves all kinds, and returns the provider of the manager's REST mapper.
func kindsOf(config *rest.Config) (preflight.MapperProvider, error) {
	provider, err := preflight.Kinds(config, "BucketClass", "BucketClaim", "Bucket", "BucketAccessClass", "BucketAccess")
	if err != nil {
		return nil, err
	}
	mapper, err := provider(nil, nil)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"ObjectBucketClaim", "ObjectBucket"} {
		known := objectbucket.GroupVersion().WithKind(kind)
		if _, err := mapper.RESTMapping(known.GroupKind(), known.Version); err != nil {
			return nil, fmt.Errorf("the API server at %s has no kind %s in %s: apply deploy/obc/crds there first: %w", config.Host, kind, known.GroupVersion(), err)
		}
	}
	return provider, nil
}

// add adds the reconciler to a manager.
func (o Options) add(mgr ctrl.Manager) error {
	newBase, err := reconciler.New(mgr, reconciler.Options{
		Component: "obc", Name: o.Name, Scope: o.Scope, Registerer: o.Registerer, Resync: o.Resync, Workers: o.Workers, Backoff: o.Backoff,
	})
	if err != nil {
		return err
	}
	r := &claimReconciler{Base: newBase(metrics.KindObjectBucketClaim)}
	return r.watch(mgr, "objectbucketclaim"+o.Name)
}

// cacheOptions restricts the cache to the namespaces in scope.
func cacheOptions(s reconciler.Scope) cache.Options {
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	for _, namespace := range s.Namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

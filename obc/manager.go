// SPDX-License-Identifier: Apache-2.0

// Package obc serves ObjectBucketClaims, which users had before COSI, by COSI's own objects: it makes a BucketClaim and
// a BucketAccess for each, and the ConfigMap, Secret and ObjectBucket that its applications know. So every driver
// serves them. It must not make an RPC, and knows of COSI nothing but the objects that users and administrators write.
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

// LeaseName is the Lease by which the instances elect the one that works.
const LeaseName = "cosi-obc"

// Options say how ObjectBucketClaims are served, and how the process around that runs.
type Options struct {
	// Scope limits the work to the claims of some namespaces.
	Scope reconciler.Scope
	// Registerer gets the metrics; it is required.
	Registerer prometheus.Registerer
	// Name is added to the name of the controller in logs.
	Name string
	// Resync is the longest time between two looks at a claim that nobody changed. Zero means reconciler.DefaultResync.
	Resync time.Duration
	// Workers is the number of claims worked on at a time. Zero means reconciler.DefaultWorkers.
	Workers int
	// Backoff bounds the wait after a failure of the Kubernetes API.
	Backoff reconciler.BackoffOptions
	// Logger gets all logs.
	Logger logr.Logger
	// Metrics say how metrics are served.
	Metrics ctrlmanager.Metrics
	// HealthAddress is a TCP address to listen on; empty serves none.
	HealthAddress string
	// LeaderNamespace is the namespace of the Lease; empty means that this is the only instance.
	LeaderNamespace string
	// WrapClient, if set, stands between the controller and its client.
	WrapClient func(client.Client) client.Client
}

// NewManager returns a manager that serves ObjectBucketClaims, ready to Start. It fails when the API server cannot be
// reached or lacks a kind.
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
				return nil, fmt.Errorf("client: %w", err)
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

// kindsOf fails unless the API server has all kinds, and returns how a manager finds them.
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

// cacheOptions keeps objects of other namespaces than those in scope out of the cache.
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

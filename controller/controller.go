// SPDX-License-Identifier: Apache-2.0

// Package controller is the COSI Controller. For all drivers of a cluster, it binds BucketClaims to Buckets and hands
// BucketAccesses off to the sidecar of their driver. It uses only the Kubernetes API: it makes no RPC and does not
// import proto or sidecar.
package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/controller/internal/bucketaccess"
	"github.com/cooper-cosi/cooper/controller/internal/bucketclaim"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/readiness"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

const (
	// DefaultResync is the resync period of Options that set none. The Controller watches all objects that it depends
	// on.
	DefaultResync = 30 * time.Minute
	// DefaultWorkers is the number of workers of Options that set none.
	DefaultWorkers = reconciler.DefaultWorkers
	// DefaultPatience is the Patience of Options that set none.
	DefaultPatience = time.Minute
	// DefaultDeletionPatience is the DeletionPatience of Options that set none. Kubernetes needs minutes to delete a
	// namespace with thousands of claims.
	DefaultDeletionPatience = 5 * time.Minute
	// component is the name of the Controller in metrics and Events.
	component = "controller"
)

// Options configure a Controller.
type Options struct {
	// Scope restricts the Controller to the claims and accesses of some namespaces and to the Buckets of those claims.
	// The zero value includes all.
	Scope reconciler.Scope
	// Registerer registers the metrics. Required.
	Registerer prometheus.Registerer
	// Name is a suffix of the names of the reconcilers in logs, for processes that run several Controllers.
	Name string
	// Resync is the maximum time between two reconciles of an unchanged object, before jitter of up to a fifth. Zero
	// means DefaultResync.
	Resync time.Duration
	// Workers is the number of concurrent reconciles for claims, and separately the number for accesses. Zero means
	// DefaultWorkers.
	Workers int
	// Patience is how long an access may wait for its claims before its conditions report it. Most waits end earlier
	// and cost no write. Zero means DefaultPatience.
	Patience time.Duration
	// DeletionPatience is how long a terminating claim may be in use before the conditions of the claim and of its
	// accesses report it. Zero means DefaultDeletionPatience.
	DeletionPatience time.Duration
	// LostClaimGrace is how long a Bucket is held if its claim no longer exists and the Controller did not see the
	// deletion of the claim, for example after a restore from a backup. After that time the Bucket is released as if an
	// administrator had confirmed the release. Zero means no limit.
	LostClaimGrace time.Duration
	// Backoff limits the delay after a failed request to the API server.
	Backoff reconciler.BackoffOptions
	// TracerProvider creates a span for each reconcile and its steps. Nil means OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
}

// Add adds the Controller to a manager. The manager's scheme must have the kinds of api/v1alpha2. A manager takes only
// one Controller. Add fails if the options are incomplete or the manager rejects a part of the Controller.
func Add(mgr ctrl.Manager, o Options) error {
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.DeletionPatience == 0 {
		o.DeletionPatience = DefaultDeletionPatience
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	newBase, err := reconciler.New(mgr, reconciler.Options{
		Component: component, Name: o.Name, Scope: o.Scope, Registerer: o.Registerer, Resync: o.Resync, Workers: o.Workers,
		Backoff: o.Backoff, TracerProvider: o.TracerProvider,
	})
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	if err := index.Register(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	ofClaims := newBase(metrics.KindBucketClaim)
	orphans := ofClaims
	orphans.Runner = ofClaims.Runner.Separate()
	claims := bucketclaim.Reconciler{
		Base: ofClaims, Orphans: orphans, LostClaimGrace: o.LostClaimGrace, DeletionPatience: o.DeletionPatience,
	}
	if err := claims.Watch(mgr, o.partName("bucketclaim")); err != nil {
		return fmt.Errorf("controller: add the reconciler of BucketClaims: %w", err)
	}
	accesses := bucketaccess.Reconciler{
		Base: newBase(metrics.KindBucketAccess), Patience: o.Patience, DeletionPatience: o.DeletionPatience,
	}
	if err := accesses.Watch(mgr, o.partName("bucketaccess")); err != nil {
		return fmt.Errorf("controller: add the reconciler of BucketAccesses: %w", err)
	}
	if err := readiness.Watch(mgr, readiness.Options{Scope: o.Scope, Suffix: o.partName("")}); err != nil {
		return fmt.Errorf("controller: add the reconcilers of readiness: %w", err)
	}
	if err := metrics.NewObjects(o.Registerer, inventory(mgr, o.Scope)); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	return nil
}

// partName returns the name of a part of the Controller in logs.
func (o Options) partName(kind string) string {
	if o.Name == "" {
		return kind
	}
	return kind + "-" + o.Name
}

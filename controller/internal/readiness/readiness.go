// SPDX-License-Identifier: Apache-2.0

// Package readiness sets the conditions Ready and Stalled of objects whose last writer did not set them, for example a
// component of an earlier version or of another project. Controller and sidecar set them in each write of a status,
// so the package usually writes nothing. It limits its writes in total, because an upgrade can leave many such
// objects, and per object, because another component may set its own Ready.
package readiness

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// perSecond is the maximum number of writes per second, equal to the default of the sidecar's --regrant-rate.
const perSecond = 5

// An object is corrected burst times at once, and then once per interval.
const (
	burst    = 5
	interval = time.Minute
	// remembered is the maximum number of recently corrected objects of one kind.
	remembered = 10_000
)

// Options configure Watch.
type Options struct {
	// Scope restricts the objects as in the other reconcilers.
	Scope reconciler.Scope
	// Suffix is appended to the names of the reconcilers in logs.
	Suffix string
}

// Watch adds one reconciler for each kind. Together they write at most perSecond objects per second.
func Watch(mgr ctrl.Manager, o Options) error {
	limit := rate.NewLimiter(perSecond, perSecond)
	for kind, blank := range map[string]func() client.Object{
		"bucketclaim":  func() client.Object { return &cosiapi.BucketClaim{} },
		"bucket":       func() client.Object { return &cosiapi.Bucket{} },
		"bucketaccess": func() client.Object { return &cosiapi.BucketAccess{} },
	} {
		r := &summarizer{
			store: reconciler.NewStore(mgr.GetClient(), mgr.GetAPIReader()), blank: blank, limit: limit, scope: o.Scope,
			recent: cache.NewLRUExpireCache(remembered),
		}
		err := ctrl.NewControllerManagedBy(mgr).
			Named("readiness-"+kind+o.Suffix).
			WithOptions(controller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: ptr.To(true)}).
			For(blank(), builder.WithPredicates(predicate.NewPredicateFuncs(r.outdated))).
			Complete(r)
		if err != nil {
			return fmt.Errorf("watch %T: %w", blank(), err)
		}
	}
	return nil
}

// A summarizer reconciles the objects of one kind.
type summarizer struct {
	store reconciler.Store
	blank func() client.Object
	limit *rate.Limiter
	scope reconciler.Scope
	// recent has a *rate.Limiter for each recently corrected object, by UID.
	recent *cache.LRUExpireCache
}

// Reconcile implements reconcile.Reconciler. If the object changes while the only worker waits for the common limit, the
// write fails with a conflict, and the change triggers another reconcile.
func (r *summarizer) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := r.blank()
	if err := client.IgnoreNotFound(r.store.Client.Get(ctx, req.NamespacedName, obj)); err != nil {
		return reconcile.Result{}, fmt.Errorf("read %T %q from the cache: %w", obj, req, err)
	}
	if !r.outdated(obj) {
		return reconcile.Result{}, nil
	}
	if wait := r.await(obj.GetUID()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := r.limit.Wait(ctx); err != nil {
		return reconcile.Result{}, fmt.Errorf("wait for the limit of writes: %w", err)
	}
	_, err := r.store.PatchStatus(ctx, obj, func() { conditions.Summarize(conditions.Of(obj)) })
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil // another write or the deletion came first
	}
	return reconcile.Result{}, err
}

// await returns how long an object must wait for its next correction. If it returns zero, it has counted a correction.
func (r *summarizer) await(object types.UID) time.Duration {
	limit := rate.NewLimiter(rate.Every(interval), burst)
	if known, ok := r.recent.Get(object); ok {
		limit, _ = known.(*rate.Limiter)
	}
	r.recent.Add(object, limit, burst*interval) // a limiter that is idle for so long is full again
	next := limit.Reserve()
	wait := next.Delay()
	if wait > 0 {
		next.Cancel()
	}
	return wait
}

// outdated reports whether Ready or Stalled of an object in scope contradicts its other conditions. It returns false
// for an object that is being deleted, because kstatus does not read its conditions.
func (r *summarizer) outdated(obj client.Object) bool {
	list := conditions.Of(obj)
	namespace := obj.GetNamespace()
	if bucket, ok := obj.(*cosiapi.Bucket); ok {
		namespace = bucket.Spec.BucketClaimRef.Namespace
	}
	return list != nil && obj.GetDeletionTimestamp().IsZero() && r.scope.Includes(namespace) && !conditions.Summarized(*list)
}

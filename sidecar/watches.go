// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

// Indexes of the cache, in addition to those of the reconcilers.
const (
	byBucket = "status.accessedBuckets.bucketName"
	bySecret = "spec.bucketClaims.accessSecretName"
	// deletingByID has the Buckets that are being deleted, by their IDs.
	deletingByID = "deletingBucketID"
)

// CacheOptions restricts the cache of a manager to the objects of one driver (by the selectable fields of the CRDs), to
// access Secrets (by their label), and to the namespaces in scope. Buckets are cluster-scoped, so the cache also
// contains the driver's Buckets for claims in other namespaces. The Sidecar ignores them.
func CacheOptions(driverName string, s reconciler.Scope) cache.Options {
	options := cache.Options{
		DefaultTransform: reconciler.Slim,
		ByObject: map[client.Object]cache.ByObject{
			&cosiapi.Bucket{}:       {Field: fields.OneTermEqualSelector("spec.driverName", driverName)},
			&cosiapi.BucketAccess{}: {Field: fields.OneTermEqualSelector("status.driverName", driverName)},
			&corev1.Secret{}:        {Label: labels.SelectorFromSet(labels.Set{cosiapi.AccessSecretLabel: "true"})},
		},
	}
	if len(s.Namespaces) == 0 {
		return options
	}
	options.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range s.Namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

func (p *parts) indexes(ctx context.Context) error {
	for field, values := range map[string]func(*cosiapi.BucketAccess) []string{
		byBucket: bucketNames, bySecret: secretNames,
		bucketaccess.ByAccount: func(a *cosiapi.BucketAccess) []string { return nonEmpty(a.Status.AccountID) },
	} {
		if err := index(ctx, p.mgr, field, values); err != nil {
			return err
		}
	}
	deleting := func(b *cosiapi.Bucket) []string {
		if b.DeletionTimestamp == nil {
			return nil
		}
		return nonEmpty(bucket.IDOf(b))
	}
	return errors.Join(index(ctx, p.mgr, deletingByID, deleting),
		index(ctx, p.mgr, bucket.ByID, func(b *cosiapi.Bucket) []string { return nonEmpty(bucket.IDOf(b)) }))
}

// index adds an index of the objects of one kind to the cache.
func index[T any, P interface {
	*T
	client.Object
}](ctx context.Context, mgr ctrl.Manager, field string, values func(P) []string,
) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, P(new(T)), field, func(obj client.Object) []string {
		typed, ok := obj.(P)
		if !ok {
			return nil
		}
		return values(typed)
	})
	if err != nil {
		return fmt.Errorf("index %T by %s: %w", P(new(T)), field, err)
	}
	return nil
}

// nonEmpty returns a list with the ID, or an empty list if there is no ID.
func nonEmpty(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

func bucketNames(a *cosiapi.BucketAccess) []string {
	var names []string
	for _, b := range a.Status.AccessedBuckets {
		names = append(names, b.BucketName)
	}
	return names
}

func secretNames(a *cosiapi.BucketAccess) []string {
	var names []string
	for _, claim := range a.Spec.BucketClaims {
		names = append(names, claim.AccessSecretName)
	}
	return names
}

// watchBuckets reconciles a Bucket when it changes. It also reconciles a Bucket that is being deleted when another
// Bucket with its ID no longer needs the backend bucket.
func (p *parts) watchBuckets(r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(p.mgr).Named("bucket-"+p.options.Name).
		For(&cosiapi.Bucket{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(p.deletingWithSameID), builder.WithPredicates(changed(bucketState))).
		WatchesRawSource(p.buckets.Trigger).
		WithOptions(p.buckets.Controller()).
		Complete(r)
}

// watchAccesses reconciles an access when the access or the state of one of its Buckets changes or, with WatchSecrets,
// one of its Secrets. It also does so when another access releases a Secret name or account that it uses, and when the
// access is deleted without cleanup.
func (p *parts) watchAccesses(r reconcile.Reconciler) error {
	b := ctrl.NewControllerManagedBy(p.mgr).Named("bucketaccess-"+p.options.Name).
		For(&cosiapi.BucketAccess{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return p.findAccesses(ctx, client.MatchingFields{byBucket: obj.GetName()})
		}), builder.WithPredicates(changed(bucketState))).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(p.sameSecretOrAccount), builder.WithPredicates(freed(bucketaccess.HeldState))).
		Watches(&cosiapi.BucketAccess{}, handler.Funcs{DeleteFunc: p.accessDeleted, UpdateFunc: p.accessReplaced}).
		WatchesRawSource(p.accesses.Trigger).
		WithOptions(p.accesses.Controller())
	if p.options.WatchSecrets {
		b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return p.findAccesses(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{bySecret: obj.GetName()})
		}), builder.OnlyMetadata)
	}
	return b.Complete(r)
}

// watchSecrets removes our finalizer from access Secrets that are being deleted and that no access owns, such as
// copies.
func (p *parts) watchSecrets(secrets bucketaccess.Secrets) error {
	heldByUs := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetDeletionTimestamp() != nil && cosiapi.HasProtection(obj) && p.options.Scope.Includes(obj.GetNamespace())
	})
	return ctrl.NewControllerManagedBy(p.mgr).Named("secret-"+p.options.Name).
		For(&corev1.Secret{}, builder.OnlyMetadata, builder.WithPredicates(heldByUs)).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, secrets.ReleaseOrphan(ctx, req.NamespacedName)
		}))
}

// accessDeleted reconciles an access that was deleted without cleanup. The event contains its last state or, if the
// watch was interrupted, the cached state.
func (p *parts) accessDeleted(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	access, ok := e.Object.(*cosiapi.BucketAccess)
	if !ok || access.Status.DriverName != p.options.Driver.Name() || !p.options.Scope.Includes(access.Namespace) {
		return
	}
	if p.memory.Deleted(access) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(access)})
	}
}

// accessReplaced is accessDeleted for an access whose deletion the watch missed because another access has its name
// now.
func (p *parts) accessReplaced(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
		p.accessDeleted(ctx, event.DeleteEvent{Object: e.ObjectOld}, queue)
	}
}

// changed selects the events that change the result of state for an object, or that replace the object by another one
// of the same name.
func changed[T client.Object](state func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, also := e.ObjectNew.(T)
		return !ok || !also || before.GetUID() != after.GetUID() || !reflect.DeepEqual(state(before), state(after))
	}}
}

// bucketState returns the part of a Bucket that accesses and other Buckets depend on.
func bucketState(b *cosiapi.Bucket) any {
	return []any{b.Spec, b.Status, b.DeletionTimestamp, cosiapi.Released(b)}
}

// freed selects the events that may release a Secret name or an account for other accesses. A new access releases
// none. Otherwise many accesses with the same name for a Secret would trigger each other at every start.
func freed(state func(*cosiapi.BucketAccess) any) predicate.Predicate {
	return predicate.And(changed(state), predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		return e.Object.GetDeletionTimestamp() != nil
	}})
}

// deletingWithSameID returns the Buckets with the ID of this one that are being deleted.
func (p *parts) deletingWithSameID(ctx context.Context, obj client.Object) []reconcile.Request {
	b, ok := obj.(*cosiapi.Bucket)
	if !ok || bucket.IDOf(b) == "" {
		return nil
	}
	return p.find(ctx, &cosiapi.BucketList{}, client.MatchingFields{deletingByID: bucket.IDOf(b)})
}

// sameSecretOrAccount returns the accesses that name a Secret of this access or have its account.
func (p *parts) sameSecretOrAccount(ctx context.Context, obj client.Object) []reconcile.Request {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok {
		return nil
	}
	var found []reconcile.Request
	for _, name := range secretNames(access) {
		found = append(found, p.findAccesses(ctx, client.InNamespace(access.Namespace), client.MatchingFields{bySecret: name})...)
	}
	for _, id := range nonEmpty(access.Status.AccountID) {
		found = append(found, p.findAccesses(ctx, client.MatchingFields{bucketaccess.ByAccount: id})...)
	}
	return found
}

// findAccesses lists accesses in the cache.
func (p *parts) findAccesses(ctx context.Context, by ...client.ListOption) []reconcile.Request {
	return p.find(ctx, &cosiapi.BucketAccessList{}, by...)
}

// find lists objects in the cache.
func (p *parts) find(ctx context.Context, list client.ObjectList, by ...client.ListOption) []reconcile.Request {
	var requests []reconcile.Request
	err := p.mgr.GetClient().List(ctx, list, append(by, reconciler.ReadOnly)...)
	if err == nil {
		err = meta.EachListItem(list, func(obj runtime.Object) error {
			if found, ok := obj.(client.Object); ok {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(found)})
			}
			return nil
		})
	}
	if err != nil {
		// The cache reads from memory; it fails only while it stops.
		log.FromContext(ctx).V(1).Info("Cannot look up objects", "reason", err.Error())
	}
	return requests
}

// driverWatcher reconciles all objects, and the orphaned accesses, when the driver has reconnected or its response to
// DriverGetInfo has changed.
func (p *parts) driverWatcher() manager.Runnable {
	changed := make(chan struct{}, 1)
	p.options.Driver.conn.OnChange(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	return manager.RunnableFunc(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
				p.accesses.Trigger.EnqueueLate(append(p.findAccesses(ctx), p.memory.Requests()...)...)
				p.buckets.Trigger.EnqueueLate(p.find(ctx, &cosiapi.BucketList{})...)
			}
		}
	})
}

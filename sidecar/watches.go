// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucket"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

// Indexes of BucketAccesses in the cache, beside those of the reconcilers.
const (
	byBucket = "status.accessedBuckets.bucketName"
	bySecret = "spec.bucketClaims.accessSecretName"
)

func (p *parts) indexes(ctx context.Context) error {
	for field, values := range map[string]func(*cosiapi.BucketAccess) []string{
		byBucket: bucketNames, bySecret: secretNames,
		bucketaccess.ByAccount: func(a *cosiapi.BucketAccess) []string { return known(a.Status.AccountID) },
	} {
		if err := index(ctx, p.mgr, field, values); err != nil {
			return err
		}
	}
	return index(ctx, p.mgr, bucket.ByID, func(b *cosiapi.Bucket) []string { return known(bucket.IDOf(b)) })
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

// known returns an ID, if there is one.
func known(id string) []string {
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

// watchBuckets wakes a Bucket when it changes, and one that is being deleted when
// another with its ID needs that no more.
func (p *parts) watchBuckets(r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(p.mgr).Named("bucket-"+p.options.Name).
		For(&cosiapi.Bucket{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(p.twins), builder.WithPredicates(changed(bucket.Need))).
		WatchesRawSource(p.buckets.Trigger).
		WithOptions(p.buckets.Controller()).
		Complete(r)
}

// watchAccesses wakes an access when it, what it needs of one of its Buckets or,
// with WatchSecrets, one of its Secrets changes, and when another access that
// names the same Secret or has the same account gives way.
func (p *parts) watchAccesses(r reconcile.Reconciler) error {
	b := ctrl.NewControllerManagedBy(p.mgr).Named("bucketaccess-"+p.options.Name).
		For(&cosiapi.BucketAccess{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return p.find(ctx, client.MatchingFields{byBucket: obj.GetName()})
		}), builder.WithPredicates(changed(bucketaccess.Use))).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(p.rivals), builder.WithPredicates(freed(bucketaccess.Hold))).
		Watches(&cosiapi.BucketAccess{}, handler.Funcs{DeleteFunc: p.gone}).
		WatchesRawSource(p.accesses.Trigger).
		WithOptions(p.accesses.Controller())
	if p.options.WatchSecrets {
		b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			of := p.find(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{bySecret: obj.GetName()})
			return append(of, p.suspects(ctx, obj)...)
		}), builder.OnlyMetadata).WatchesRawSource(source.Func(p.sweep))
	}
	return b.Complete(r)
}

// twins returns the other Buckets with the ID of this one that are being deleted.
func (p *parts) twins(ctx context.Context, obj client.Object) []reconcile.Request {
	b, ok := obj.(*cosiapi.Bucket)
	if !ok || bucket.IDOf(b) == "" {
		return nil
	}
	return p.findBuckets(ctx, func(other *cosiapi.Bucket) bool { return other.DeletionTimestamp != nil && other.Name != b.Name },
		client.MatchingFields{bucket.ByID: bucket.IDOf(b)})
}

// rivals returns the other accesses that name a Secret of this one, or have its
// account.
func (p *parts) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok {
		return nil
	}
	var others []reconcile.Request
	for _, name := range secretNames(access) {
		others = append(others, p.find(ctx, client.InNamespace(access.Namespace), client.MatchingFields{bySecret: name})...)
	}
	for _, id := range known(access.Status.AccountID) {
		others = append(others, p.find(ctx, client.MatchingFields{bucketaccess.ByAccount: id})...)
	}
	return slices.DeleteFunc(others, func(found reconcile.Request) bool { return found.NamespacedName == client.ObjectKeyFromObject(access) })
}

// find lists accesses in the cache.
func (p *parts) find(ctx context.Context, by ...client.ListOption) []reconcile.Request {
	var list cosiapi.BucketAccessList
	if err := p.mgr.GetClient().List(ctx, &list, append(by, objects.ReadOnly)...); err != nil {
		// The cache reads from memory; it fails only while it stops.
		log.FromContext(ctx).V(1).Info("Cannot look up accesses", "reason", err.Error())
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// driverWatcher reconciles everything when the driver came back or returns
// another DriverGetInfo.
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
				p.accesses.Trigger.EnqueueLate(p.find(ctx)...)
				p.buckets.Trigger.EnqueueLate(p.findBuckets(ctx, func(*cosiapi.Bucket) bool { return true })...)
			}
		}
	})
}

// findBuckets lists the Buckets in the cache that are wanted.
func (p *parts) findBuckets(ctx context.Context, wanted func(*cosiapi.Bucket) bool, by ...client.ListOption) []reconcile.Request {
	var list cosiapi.BucketList
	if err := p.mgr.GetClient().List(ctx, &list, append(by, objects.ReadOnly)...); err != nil {
		log.FromContext(ctx).V(1).Info("Cannot look up Buckets", "reason", err.Error())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

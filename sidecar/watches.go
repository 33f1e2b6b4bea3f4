// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Indexes of BucketAccesses in the cache.
const (
	byBucket = "status.accessedBuckets.bucketName"
	bySecret = "spec.bucketClaims.accessSecretName"
)

func (p *parts) indexes(ctx context.Context) error {
	for field, extract := range map[string]func(*cosiapi.BucketAccess) []string{byBucket: bucketNames, bySecret: secretNames} {
		err := p.mgr.GetFieldIndexer().IndexField(ctx, &cosiapi.BucketAccess{}, field, func(obj client.Object) []string {
			access, ok := obj.(*cosiapi.BucketAccess)
			if !ok {
				return nil
			}
			return extract(access)
		})
		if err != nil {
			return fmt.Errorf("index BucketAccesses by %s: %w", field, err)
		}
	}
	return nil
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

func (p *parts) watchBuckets(r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(p.mgr).Named("bucket-" + p.options.Name).
		For(&cosiapi.Bucket{}).
		WatchesRawSource(p.buckets.Bell).
		WithOptions(p.buckets.Controller()).
		Complete(r)
}

// watchAccesses wakes an access when it, one of its Buckets or, with
// WatchSecrets, one of its Secrets changes, and when another access that has
// its eye on the same Secret name does.
func (p *parts) watchAccesses(r reconcile.Reconciler) error {
	b := ctrl.NewControllerManagedBy(p.mgr).Named("bucketaccess-"+p.options.Name).
		For(&cosiapi.BucketAccess{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return p.find(ctx, client.MatchingFields{byBucket: obj.GetName()})
		})).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(p.rivals)).
		WatchesRawSource(p.accesses.Bell).
		WithOptions(p.accesses.Controller())
	if p.options.WatchSecrets {
		b = b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return p.find(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{bySecret: obj.GetName()})
		}), builder.OnlyMetadata)
	}
	return b.Complete(r)
}

// rivals returns the other accesses that name a Secret of this one.
func (p *parts) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok {
		return nil
	}
	var others []reconcile.Request
	for _, name := range secretNames(access) {
		for _, found := range p.find(ctx, client.InNamespace(access.Namespace), client.MatchingFields{bySecret: name}) {
			if found.Name != access.Name {
				others = append(others, found)
			}
		}
	}
	return others
}

// find lists accesses in the cache.
func (p *parts) find(ctx context.Context, by ...client.ListOption) []reconcile.Request {
	var list cosiapi.BucketAccessList
	if err := p.mgr.GetClient().List(ctx, &list, by...); err != nil {
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
				p.accesses.Bell.Ring(p.find(ctx)...)
				p.buckets.Bell.Ring(p.allBuckets(ctx)...)
			}
		}
	})
}

func (p *parts) allBuckets(ctx context.Context) []reconcile.Request {
	var list cosiapi.BucketList
	if err := p.mgr.GetClient().List(ctx, &list); err != nil {
		log.FromContext(ctx).V(1).Info("Cannot look up Buckets", "reason", err.Error())
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = types.NamespacedName{Name: list.Items[i].Name}
	}
	return requests
}

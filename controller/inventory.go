// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// scrapeTime is how long a scrape may wait for a cache that is not synced yet.
const scrapeTime = time.Second

// inventory returns the objects in scope for the metrics, from the cache. It returns none before the cache is synced.
// The objects are not copied, since a scrape reads ten thousand of them, and must not be modified.
func inventory(mgr ctrl.Manager, s reconciler.Scope) func() metrics.Inventory {
	return func() metrics.Inventory {
		none := metrics.Inventory{Objects: func(func(metrics.Object) bool) {}}
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
		defer cancel()
		buckets, claims, accesses := &cosiapi.BucketList{}, &cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}
		for _, list := range []client.ObjectList{buckets, claims, accesses} {
			if err := mgr.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				mgr.GetLogger().Info("Cannot count the objects for the metrics", "reason", err.Error())
				return none
			}
		}
		return metrics.Inventory{Active: elected(mgr), Objects: counted(buckets.Items, claims.Items, accesses.Items, s)}
	}
}

// elected reports whether the manager is the leader.
func elected(mgr ctrl.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}

// counted returns the metrics of each object in scope.
func counted(buckets []cosiapi.Bucket, claims []cosiapi.BucketClaim, accesses []cosiapi.BucketAccess, s reconciler.Scope) iter.Seq[metrics.Object] {
	return func(yield func(metrics.Object) bool) {
		drivers := map[string]string{}
		for i := range buckets {
			b := &buckets[i]
			drivers[b.Name] = b.Spec.DriverName
			if namespace := b.Spec.BucketClaimRef.Namespace; s.Includes(namespace) &&
				!yield(measured(b, b.Status.Conditions, metrics.Object{Kind: metrics.KindBucket, Driver: b.Spec.DriverName, Namespace: namespace})) {
				return
			}
		}
		for i := range claims {
			c := &claims[i]
			driver := drivers[c.Status.BoundBucketName]
			if !yield(measured(c, c.Status.Conditions, metrics.Object{Kind: metrics.KindBucketClaim, Driver: driver, Namespace: c.Namespace})) {
				return
			}
		}
		for i := range accesses {
			a := &accesses[i]
			if !yield(measured(a, a.Status.Conditions, metrics.Object{Kind: metrics.KindBucketAccess, Driver: a.Status.DriverName, Namespace: a.Namespace})) {
				return
			}
		}
	}
}

// measured sets the state of an object and its start time.
func measured(obj client.Object, of []metav1.Condition, to metrics.Object) metrics.Object {
	failed := meta.FindStatusCondition(of, cosiapi.ConditionProvisionFailed)
	switch deleted := obj.GetDeletionTimestamp(); {
	case deleted != nil && cosiapi.HasProtection(obj): // finalizers of other owners are not reported
		to.State, to.Since = metrics.StateDeleting, deleted.Time
	case deleted == nil && failed != nil && failed.Status == metav1.ConditionTrue:
		to.State, to.Since = metrics.StateFailing, failed.LastTransitionTime.Time
	case conditions.Is(of, cosiapi.ConditionProvisioned, metav1.ConditionTrue):
		to.State = metrics.StateReady
	default:
		to.State, to.Since = metrics.StatePending, obj.GetCreationTimestamp().Time
	}
	return to
}

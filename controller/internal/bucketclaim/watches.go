// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// Watch triggers a reconcile on changes of the claim, its Bucket, its class and the accesses that reference it.
func (r *Reconciler) Watch(mgr ctrl.Manager, name string) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(r.Controller()).
		For(&cosiapi.BucketClaim{}).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(r.ofBucket), builder.WithPredicates(bucketChanged())).
		Watches(&cosiapi.BucketClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass)).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(ofAccess), builder.WithPredicates(references.Changed())).
		Complete(r)
}

// bucketChanged selects the changes of a Bucket, except those of only its bucket ID, which claims do not show.
func bucketChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*cosiapi.Bucket)
		after, also := e.ObjectNew.(*cosiapi.Bucket)
		if !ok || !also {
			return true
		}
		identified := *before
		identified.ResourceVersion, identified.Status.BucketID = after.ResourceVersion, after.Status.BucketID
		return before.Status.BucketID == after.Status.BucketID || !equality.Semantic.DeepEqual(&identified, after)
	}}
}

// ofBucket enqueues the claim that the Bucket references and the claims that request the Bucket.
func (r *Reconciler) ofBucket(ctx context.Context, obj client.Object) []reconcile.Request {
	bucket, ok := obj.(*cosiapi.Bucket)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if ref := bucket.Spec.BucketClaimRef; r.Options.Scope.Includes(ref.Namespace) {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}})
	}
	return append(requests, r.claims(ctx, index.ClaimByBucket, bucket.Name)...)
}

// ofClass enqueues the claims of a class that have no Bucket yet. The others have a copy of the class.
func (r *Reconciler) ofClass(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.claims(ctx, index.ClaimByClass, obj.GetName())
}

// claims returns requests for the claims with a value in an index.
func (r *Reconciler) claims(ctx context.Context, indexName, value string) []reconcile.Request {
	list := &cosiapi.BucketClaimList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{indexName: value}, reconciler.ReadOnly); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list claims from the cache; the resync will find them", "index", indexName, "value", value)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// ofAccess enqueues the claims that an access references.
func ofAccess(_ context.Context, obj client.Object) []reconcile.Request {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(access.Spec.BucketClaims))
	for _, c := range access.Spec.BucketClaims {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: access.Namespace, Name: c.BucketClaimName}})
	}
	return requests
}

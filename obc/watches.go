// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// watch triggers a reconcile on changes of the claim, its ObjectBucket, COSI's objects for it, and the classes.
// Secrets and ConfigMaps may not be watched and are read in every reconcile instead.
func (r *claimReconciler) watch(mgr ctrl.Manager, name string) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(r.Controller()).
		For(&objectbucket.ObjectBucketClaim{}).
		Watches(&objectbucket.ObjectBucket{}, handler.EnqueueRequestsFromMapFunc(ofObjectBucket)).
		Watches(&cosiapi.BucketClaim{}, handler.EnqueueRequestsFromMapFunc(ofOwned)).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(ofOwned)).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(ofBucket)).
		Watches(&storagev1.StorageClass{}, handler.EnqueueRequestsFromMapFunc(r.undecided)).
		Watches(&cosiapi.BucketClass{}, handler.EnqueueRequestsFromMapFunc(r.undecided)).
		Watches(&cosiapi.BucketAccessClass{}, handler.EnqueueRequestsFromMapFunc(r.undecided)).
		Complete(r)
}

// ofObjectBucket enqueues the claim that an ObjectBucket references.
func ofObjectBucket(_ context.Context, obj client.Object) []reconcile.Request {
	bucket, ok := obj.(*objectbucket.ObjectBucket)
	if !ok || bucket.Spec.ClaimRef == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: bucket.Spec.ClaimRef.Namespace, Name: bucket.Spec.ClaimRef.Name}}}
}

// ofOwned enqueues the claims that own an object.
func ofOwned(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind == "ObjectBucketClaim" && strings.HasPrefix(owner.APIVersion, objectbucket.GroupName+"/") {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}})
		}
	}
	return requests
}

// ofBucket enqueues the claim that a Bucket was created for.
func ofBucket(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[claimAnnotation], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// undecided enqueues the claims that are not bound. For a bound claim, the classes are read when the claim changes.
func (r *claimReconciler) undecided(ctx context.Context, _ client.Object) []reconcile.Request {
	claims := &objectbucket.ObjectBucketClaimList{}
	if err := r.Client.List(ctx, claims, reconciler.ReadOnly); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list claims from the cache; the resync will find them")
		return nil
	}
	var requests []reconcile.Request
	for i := range claims.Items {
		if claims.Items[i].Status.Phase != objectbucket.PhaseBound {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&claims.Items[i])})
		}
	}
	return requests
}

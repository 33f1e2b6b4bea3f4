// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// Watch triggers a reconcile on changes of the access, its claims, its class and the Buckets of its claims.
func (r *Reconciler) Watch(mgr ctrl.Manager, name string) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(r.Controller()).
		For(&cosiapi.BucketAccess{}).
		Watches(&cosiapi.BucketClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim), builder.WithPredicates(claimChanged())).
		Watches(&cosiapi.BucketAccessClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass)).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(r.ofBucket)).
		Complete(r)
}

// claimChanged selects the changes of a claim that are relevant for its accesses.
func claimChanged() predicate.Predicate {
	type state struct {
		deleting, referenced, provisioned, inProgress bool
		bucket                                        string
	}
	of := func(obj client.Object) (s state, protocols []cosiapi.Protocol) {
		claim, ok := obj.(*cosiapi.BucketClaim)
		if !ok {
			return s, nil
		}
		s = state{
			!claim.DeletionTimestamp.IsZero(), cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation),
			provisioned(claim), inProgress(claim), "",
		}
		if s.provisioned {
			s.bucket = claim.Status.BoundBucketName
		}
		return s, claim.Status.Protocols
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, had := of(e.ObjectOld)
		after, has := of(e.ObjectNew)
		return before != after || !slices.Equal(had, has) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
	}}
}

// ofClaim enqueues all accesses that reference a claim.
func (r *Reconciler) ofClaim(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.accesses(ctx, nil, client.InNamespace(obj.GetNamespace()), client.MatchingFields{index.AccessByClaim: obj.GetName()})
}

// ofClass enqueues the accesses of a class that are not handed off yet. The others have a copy of the class.
func (r *Reconciler) ofClass(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.accesses(ctx, nil, client.MatchingFields{index.AccessByClass: obj.GetName()})
}

// ofBucket enqueues the accesses that wait for the claim that a Bucket references. A Bucket that is not provisioned
// enqueues none: its claim shows that state.
func (r *Reconciler) ofBucket(ctx context.Context, obj client.Object) []reconcile.Request {
	bucket, ok := obj.(*cosiapi.Bucket)
	if !ok || !r.Options.Scope.Includes(bucket.Spec.BucketClaimRef.Namespace) ||
		!conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return nil
	}
	ref := bucket.Spec.BucketClaimRef
	return r.accesses(ctx, notHandedOff, client.InNamespace(ref.Namespace), client.MatchingFields{index.AccessByClaim: ref.Name})
}

func notHandedOff(access *cosiapi.BucketAccess) bool { return access.Status.DriverName == "" }

// accesses returns requests for the accesses that the list options select and filter accepts. A nil filter accepts
// all.
func (r *Reconciler) accesses(ctx context.Context, filter func(*cosiapi.BucketAccess) bool, options ...client.ListOption) []reconcile.Request {
	list := &cosiapi.BucketAccessList{}
	if err := r.Client.List(ctx, list, append(options, reconciler.ReadOnly)...); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list accesses from the cache; the resync will find them")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if filter == nil || filter(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

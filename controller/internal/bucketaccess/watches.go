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
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/objects"
)

// Watch starts the reconciler on every change that may concern an access: of
// the access itself, its claims, its class, the Buckets of its claims and the
// other accesses to them.
func (r *Reconciler) Watch(mgr ctrl.Manager, name string) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(r.Controller()).
		For(&cosiapi.BucketAccess{}).
		Watches(&cosiapi.BucketClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim), builder.WithPredicates(claimChanged())).
		Watches(&cosiapi.BucketAccessClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass)).
		Watches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(r.ofBucket)).
		Watches(&cosiapi.BucketAccess{}, handler.EnqueueRequestsFromMapFunc(r.ofHeir), builder.WithPredicates(inuse.Changed())).
		Complete(r)
}

// claimChanged lets pass what matters of a claim to its accesses.
func claimChanged() predicate.Predicate {
	type matter struct {
		deleting, marked, provisioned, underWay bool
		bucket                                  string
	}
	of := func(obj client.Object) (m matter, protocols []cosiapi.Protocol) {
		claim, ok := obj.(*cosiapi.BucketClaim)
		if !ok {
			return m, nil
		}
		m = matter{
			!claim.DeletionTimestamp.IsZero(), cosiapi.HasAnnotation(claim, cosiapi.HasBucketAccessReferencesAnnotation),
			provisioned(claim), underWay(claim), "",
		}
		if m.provisioned {
			m.bucket = claim.Status.BoundBucketName
		}
		return m, claim.Status.Protocols
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, had := of(e.ObjectOld)
		after, has := of(e.ObjectNew)
		return before != after || !slices.Equal(had, has) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
	}}
}

// ofClaim wakes all accesses that reference a claim.
func (r *Reconciler) ofClaim(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.accesses(ctx, nil, client.InNamespace(obj.GetNamespace()), client.MatchingFields{index.AccessByClaim: obj.GetName()})
}

// ofClass wakes the accesses of a class that are not handed over yet; the
// others have a copy of the class.
func (r *Reconciler) ofClass(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.accesses(ctx, nil, client.MatchingFields{index.AccessByClass: obj.GetName()})
}

// ofBucket wakes the accesses to the claim that a Bucket names, as long as they
// wait for it. Of one that is not provisioned the claim says enough.
func (r *Reconciler) ofBucket(ctx context.Context, obj client.Object) []reconcile.Request {
	bucket, ok := obj.(*cosiapi.Bucket)
	if !ok || !r.Options.Scope.Includes(bucket.Spec.BucketClaimRef.Namespace) ||
		!conditions.Is(bucket.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return nil
	}
	ref := bucket.Spec.BucketClaimRef
	return r.accesses(ctx, notHandedOff, client.InNamespace(ref.Namespace), client.MatchingFields{index.AccessByClaim: ref.Name})
}

// ofHeir wakes the accesses that are being deleted and share a claim with one
// that holds it: the mark on the claim, whose end they wait for, stays.
func (r *Reconciler) ofHeir(ctx context.Context, obj client.Object) []reconcile.Request {
	access, ok := obj.(*cosiapi.BucketAccess)
	if !ok || !inuse.StateOf(access).Blocks() {
		return nil
	}
	leaving := func(other *cosiapi.BucketAccess) bool {
		return other.Name != access.Name && !other.DeletionTimestamp.IsZero()
	}
	var requests []reconcile.Request
	for _, c := range access.Spec.BucketClaims {
		requests = append(requests, r.accesses(ctx, leaving, client.InNamespace(access.Namespace), client.MatchingFields{index.AccessByClaim: c.BucketClaimName})...)
	}
	return requests
}

func notHandedOff(access *cosiapi.BucketAccess) bool { return access.Status.DriverName == "" }

// accesses are requests for the accesses that the list options select; a nil
// filter takes all.
func (r *Reconciler) accesses(ctx context.Context, filter func(*cosiapi.BucketAccess) bool, options ...client.ListOption) []reconcile.Request {
	list := &cosiapi.BucketAccessList{}
	if err := r.Client.List(ctx, list, append(options, objects.ReadOnly)...); err != nil {
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

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// awaitCleanup waits until the sidecar has deleted the Secrets and revoked the
// access. An access that is deleted before its hand-off needs no sidecar: the
// hand-off is guarded by the resourceVersion, and cannot follow the deletion.
func (r *Reconciler) awaitCleanup(_ context.Context, w *work) (reconciler.Verdict, error) {
	if !cosiapi.HasProtection(w.access) || w.access.Status.DriverName == "" || w.access.CleanedUp() {
		return reconciler.Next(), nil
	}
	return reconciler.Wait(fmt.Sprintf("the sidecar of driver %q", w.access.Status.DriverName)), nil
}

// removeReferences removes the UID of the access from its claims.
func (r *Reconciler) removeReferences(ctx context.Context, w *work) (reconciler.Verdict, error) {
	for _, c := range w.access.Spec.BucketClaims {
		if err := r.removeReference(ctx, w.access, c.BucketClaimName); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	return reconciler.Next(), nil
}

// removeReference removes the UID of the access from one claim. It reads the claim from the API server if the cache
// does not have our last write yet.
func (r *Reconciler) removeReference(ctx context.Context, access *cosiapi.BucketAccess, name string) error {
	key, claim := types.NamespacedName{Namespace: access.Namespace, Name: name}, &cosiapi.BucketClaim{}
	found, err := get(ctx, r.Client, key, claim)
	if found && !r.Store.Seen(claim).Goes() {
		found, err = get(ctx, r.Live, key, claim)
	}
	if err != nil || !found {
		return err
	}
	same := func(before, now client.Object) bool { return before.GetUID() == now.GetUID() }
	err = r.Record(ctx, claim, same, func() { references.Remove(claim, access.UID) })
	return client.IgnoreNotFound(err)
}

// removeFinalizer removes the finalizer from the access.
func (r *Reconciler) removeFinalizer(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !cosiapi.HasProtection(w.access) {
		return reconciler.Done(), nil
	}
	if w.access.Status.DriverName == "" { // the class names the driver for the metrics
		if _, err := r.gather(ctx, w); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	deleted := *w.access.DeletionTimestamp
	_, err := r.Patch(ctx, w.access, func() { cosiapi.RemoveProtection(w.access) })
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Verdict{}, err
	}
	r.Deleted(w.DriverName(), deleted, w.access.Status.Conditions)
	return reconciler.Done(), nil
}

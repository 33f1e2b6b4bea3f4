// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

const (
	// cacheDelay is the maximum wait for the cache to show an access that the API server has. The access may be
	// deleted before the cache shows it.
	cacheDelay = 10 * time.Second
	// pageSize is the number of accesses per list request to the API server.
	pageSize = 500
)

// dropReferences removes UIDs of accesses that no longer exist because their finalizer was removed manually, and the
// annotation of an earlier version once no access uses the claim.
func (r *Reconciler) dropReferences(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !cosiapi.HasAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation) {
		return reconciler.Next(), nil
	}
	accesses, err := r.cachedAccesses(ctx, w)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if references.Legacy(w.claim) && len(references.Blockers(w.claim, accesses)) == 0 {
		return reconciler.Next(), r.write(ctx, w, func() { references.Clear(w.claim) })
	}
	unknown := references.Unknown(w.claim, accesses)
	if len(unknown) == 0 {
		return reconciler.Next(), nil
	}
	if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
		return reconciler.Next(), err // the next reconcile sees the current claim
	}
	live, err := r.liveAccesses(ctx, w)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	return reconciler.Next(), r.write(ctx, w, func() { references.Remove(w.claim, references.Unknown(w.claim, live)...) })
}

// awaitAccesses waits until no access uses a claim that is being deleted.
//
// It uses the cache: a terminating claim gets no new UIDs, so a stale copy can only have too many. If the cache has no
// access with one of the UIDs, the API server is asked: the access was removed in spite of its finalizer, or the cache
// is stale.
func (r *Reconciler) awaitAccesses(ctx context.Context, w *work) (reconciler.Verdict, error) {
	accesses, err := r.cachedAccesses(ctx, w)
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if blockers := references.Blockers(w.claim, accesses); len(blockers) > 0 {
		return r.reportInUse(ctx, w, blockers)
	}
	if len(references.Unknown(w.claim, accesses)) > 0 {
		if verdict, err := r.Reread(ctx, &w.Request); err != nil || !verdict.Goes() {
			return verdict, err
		}
		live, err := r.liveAccesses(ctx, w)
		if err != nil {
			return reconciler.Verdict{}, err
		}
		if blockers := references.Blockers(w.claim, live); len(blockers) > 0 {
			return reconciler.WaitAtMost(cacheDelay, reconciler.ObjectName(blockers[0])), nil
		}
	}
	if !cosiapi.HasProtection(w.claim) { // another finalizer keeps it
		return reconciler.Done(), r.write(ctx, w, func() { references.Clear(w.claim) })
	}
	return reconciler.Next(), nil
}

// reportInUse reports which accesses the claim waits for, unless they are being deleted. It does so only after
// DeletionPatience: if the namespace is deleted, Kubernetes deletes the accesses as well.
func (r *Reconciler) reportInUse(ctx context.Context, w *work, blockers []*cosiapi.BucketAccess) (reconciler.Verdict, error) {
	waitsFor := reconciler.ObjectName(blockers[0])
	staying := slices.DeleteFunc(blockers, func(a *cosiapi.BucketAccess) bool { return !a.DeletionTimestamp.IsZero() })
	if len(staying) == 0 {
		return reconciler.Wait(waitsFor), nil
	}
	left := min(r.DeletionPatience, w.claim.DeletionTimestamp.Add(r.DeletionPatience).Sub(r.Now()))
	if left > 0 {
		return reconciler.WaitAtMost(left, waitsFor), nil
	}
	message := inUseMessage(staying)
	isNew := meta.FindStatusCondition(w.claim.Status.Conditions, cosiapi.ConditionDeprovisionFailed) == nil
	err := r.writeStatus(ctx, w, func() {
		set(w.claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess, message)
	})
	if err != nil {
		return reconciler.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, reconciler.FailedDeleteBucket, "DeleteBucket", message)
	}
	return reconciler.Wait(waitsFor), nil
}

// cachedAccesses lists the accesses to the claim from the cache.
func (r *Reconciler) cachedAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	list := &cosiapi.BucketAccessList{}
	err := r.Client.List(ctx, list, client.InNamespace(w.Req.Namespace), client.MatchingFields{index.AccessByClaim: w.Req.Name}, reconciler.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("list BucketAccesses of BucketClaim %q from the cache: %w", w.Req, err)
	}
	return list.Items, nil
}

// liveAccesses lists the accesses to the claim from the API server, where no
// index selects them: it reads all accesses of the namespace.
func (r *Reconciler) liveAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	var accesses []cosiapi.BucketAccess
	for next := ""; ; {
		page := &cosiapi.BucketAccessList{}
		if err := r.Live.List(ctx, page, client.InNamespace(w.Req.Namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list BucketAccesses in namespace %q: %w", w.Req.Namespace, err)
		}
		for i := range page.Items {
			if references.To(&page.Items[i], w.Req.Name) {
				accesses = append(accesses, page.Items[i])
			}
		}
		if next = page.Continue; next == "" {
			return accesses, nil
		}
	}
}

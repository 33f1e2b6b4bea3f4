// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// restoreLimits adds the class's disallowed access modes to an access that an earlier version handed off without them.
// It causes no new grant: the driver gets them with the next one.
func (r *Reconciler) restoreLimits(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !lacksLimits(w.access) {
		return reconciler.Next(), nil
	}
	class := &cosiapi.BucketAccessClass{}
	found, err := get(ctx, r.Client, types.NamespacedName{Name: w.access.Spec.BucketAccessClassName}, class)
	if err != nil || !found || !handedOffFrom(w.access, class) {
		return reconciler.Next(), err
	}
	_, err = r.PatchStatus(ctx, w.access, func() {
		w.access.Status.DisallowedBucketAccessModes = class.Spec.DisallowedBucketAccessModes
	})
	return reconciler.Next(), err
}

// lacksLimits reports whether an access has no disallowed modes although its sidecar preserves fields that are not in
// the KEP. Other sidecars may drop those fields at each write, and restoring them would never end.
func lacksLimits(a *cosiapi.BucketAccess) bool {
	return a.Status.Cleanup == cosiapi.CleanupPending &&
		equality.Semantic.DeepEqual(a.Status.DisallowedBucketAccessModes, cosiapi.DisallowedBucketAccessModes{})
}

// handedOffFrom reports whether an access must have been handed off from this class: the class is older than the
// access, and its spec is immutable. A newer class may have replaced another one of the same name.
func handedOffFrom(a *cosiapi.BucketAccess, class *cosiapi.BucketAccessClass) bool {
	return !class.CreationTimestamp.After(a.CreationTimestamp.Time)
}

// cacheDelay is how long a reconcile waits for the cache to show our own write.
const cacheDelay = time.Second

// restoreReferences adds the UID to claims that do not have it, because an earlier version handed the access off or a
// user removed it. If the cache does not have our last writes yet, which may be for other accesses of the claim, it
// retries after cacheDelay: changes of the UIDs do not trigger this reconciler.
func (r *Reconciler) restoreReferences(ctx context.Context, w *work) (reconciler.Verdict, error) {
	verdict := reconciler.Next()
	for _, b := range w.access.Status.AccessedBuckets {
		claim := w.facts.claims[b.BucketClaimName]
		if claim == nil || claim.DeletionTimestamp != nil || claim.Status.BoundBucketName != b.BucketName ||
			slices.Contains(references.Of(claim), w.access.UID) {
			continue
		}
		if seen := r.Store.Seen(claim); !seen.Goes() {
			verdict = reconciler.WaitAtMost(cacheDelay, seen.Reason())
			continue
		}
		if _, err := r.Patch(ctx, claim, func() { references.Add(claim, w.access.UID) }); err != nil {
			return reconciler.Verdict{}, err
		}
	}
	return verdict, nil
}

// reportClaims reports whether the claims are unchanged since the hand-off. The access continues to work: the sidecar
// owns the condition Provisioned.
func (r *Reconciler) reportClaims(ctx context.Context, w *work) (reconciler.Verdict, error) {
	p := handedOffProblem(w.access, w.facts)
	if p != nil && p.Reason == conditions.BucketClaimDeleting {
		if left := r.deletionPatienceLeft(w); left > 0 {
			return reconciler.WaitAtMost(left, p.Message), nil
		}
	}
	if p != nil {
		if err := r.regather(ctx, w); err != nil {
			return reconciler.Verdict{}, err
		}
		p = handedOffProblem(w.access, w.facts)
	}
	_, err := r.PatchStatus(ctx, w.access, func() {
		if p == nil {
			w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated, validMessage)
		} else {
			w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, p.Reason, p.Message)
		}
	})
	return reconciler.Next(), err
}

// deletionPatienceLeft returns how long the deletion of the claims is not reported yet. If the whole namespace is
// being deleted, the access will be deleted, too.
func (r *Reconciler) deletionPatienceLeft(w *work) time.Duration {
	left := r.DeletionPatience
	for _, claim := range w.facts.claims {
		if claim.DeletionTimestamp != nil {
			left = min(left, claim.DeletionTimestamp.Add(r.DeletionPatience).Sub(r.Now()))
		}
	}
	return left
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/index"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unused holds a claim that is being deleted until no access uses it. The mark of its accesses,
// an annotation, is not trusted: only the list of accesses in the API server shows one that
// was created a moment ago.
func (r *Reconciler) unused(ctx context.Context, w *work) (step.Verdict, error) {
	accesses, err := r.cachedAccesses(ctx, w)
	if err != nil {
		return step.Verdict{}, err
	}
	if blockers := inuse.Blockers(accesses, w.Req.Name); len(blockers) > 0 {
		return r.inUse(ctx, w, blockers)
	}
	if unused, err := r.unusedBy(ctx, w, accesses); err != nil || !unused {
		return step.Wait("the cache, which is behind the API server"), err
	}
	if !cosiapi.HasProtection(w.claim) { // somebody else's finalizer holds it
		return step.Done(), r.write(ctx, w, func() { unprotect(w.claim) })
	}
	return step.Next(), nil
}

// inUse reports which accesses the claim waits for, if no user has deleted them. It does so only after DeletionPatience:
// in a namespace that is being deleted, Kubernetes deletes the accesses by itself.
func (r *Reconciler) inUse(ctx context.Context, w *work, blockers []*cosiapi.BucketAccess) (step.Verdict, error) {
	waitsFor := objects.Name(blockers[0])
	staying := slices.DeleteFunc(slices.Clone(blockers), func(a *cosiapi.BucketAccess) bool {
		return !a.DeletionTimestamp.IsZero() || !inuse.StateOf(a).Holds
	})
	if len(staying) == 0 {
		return step.Wait(waitsFor), nil
	}
	left := min(r.DeletionPatience, w.claim.DeletionTimestamp.Add(r.DeletionPatience).Sub(r.Now()))
	if left > 0 {
		return step.WaitAtMost(left, waitsFor), nil
	}
	message := inUseMessage(staying)
	isNew := meta.FindStatusCondition(w.claim.Status.Conditions, cosiapi.ConditionDeprovisionFailed) == nil
	err := r.writeStatus(ctx, w, func() {
		set(w.claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess, message)
	})
	if err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, events.FailedDeleteBucket, "DeleteBucket", message)
	}
	return step.Wait(waitsFor), nil
}

// cachedAccesses lists the accesses that ask for the claim, from the cache.
func (r *Reconciler) cachedAccesses(ctx context.Context, w *work) ([]cosiapi.BucketAccess, error) {
	list := &cosiapi.BucketAccessList{}
	err := r.Client.List(ctx, list, client.InNamespace(w.Req.Namespace), client.MatchingFields{index.AccessByClaim: w.Req.Name}, objects.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("list BucketAccesses of BucketClaim %q from the cache: %w", w.Req, err)
	}
	return list.Items, nil
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/controller/internal/overdue"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unused holds a claim that is being deleted until no access uses it, and then
// takes the mark of its accesses off. The annotation is not trusted: only the
// list of accesses in the API server shows one that was created a moment ago.
func (r *Reconciler) unused(ctx context.Context, w *work) (step.Verdict, error) {
	for _, list := range []func(context.Context, *work) ([]cosiapi.BucketAccess, error){r.cachedAccesses, r.liveAccesses} {
		accesses, err := list(ctx, w)
		if err != nil {
			return step.Verdict{}, err
		}
		if blockers := inuse.Blockers(accesses, w.key.Name); len(blockers) > 0 {
			return r.inUse(ctx, w, blockers)
		}
	}
	if cosiapi.RemoveAnnotation(w.claim, cosiapi.HasBucketAccessReferencesAnnotation) {
		// A write of its own: the last access goes as soon as it sees this,
		// whatever becomes of the Bucket.
		if err := r.saveMeta(ctx, w); err != nil {
			return step.Verdict{}, err
		}
	}
	if !cosiapi.HasProtection(w.claim) {
		return step.Done(), nil
	}
	return step.Next(), nil
}

// inUse tells which accesses the claim waits for: at once if their user must
// delete them, and if they are on their way out, once that takes long.
func (r *Reconciler) inUse(ctx context.Context, w *work, blockers []*cosiapi.BucketAccess) (step.Verdict, error) {
	verdict := step.Wait("BucketAccess " + blockers[0].Name)
	staying := slices.DeleteFunc(slices.Clone(blockers), func(a *cosiapi.BucketAccess) bool {
		return !a.DeletionTimestamp.IsZero() || !inuse.StateOf(a).Holds
	})
	if len(staying) == 0 {
		if left := overdue.In(w.claim, r.Patience, time.Now()); left > 0 {
			return step.WaitAtMost(left, verdict.Reason()), nil
		}
	}
	message := inUseMessage(blockers, staying)
	isNew := meta.FindStatusCondition(w.stored.Conditions, cosiapi.ConditionDeprovisionFailed) == nil
	w.set(cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess, message)
	if err := r.saveStatus(ctx, w); err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(w.claim, events.FailedDeleteBucket, "DeleteBucket", message)
	}
	return verdict, nil
}

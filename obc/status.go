// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// terminating is the reason of Ready while a claim is being deleted. The other reasons are the phases.
const terminating = "Terminating"

// writeStatus writes the status of a claim: the given problem, or PhaseBound, and the changes of its spec that have no
// effect or are not applied yet. It sends one Event for each new problem.
func (r *claimReconciler) writeStatus(ctx context.Context, w *work, p problem) error {
	full, changed := p, false
	ignored, pending := changesMessage(w)
	full.message = strings.TrimSpace(p.message + " " + strings.TrimSpace(ignored+" "+pending))
	if _, err := r.PatchStatus(ctx, w.claim, func() { changed = setStatus(w.claim, full) }); err != nil || !changed {
		return err
	}
	if ignored != "" {
		r.Events.Warn(w.claim, reconciler.ChangeIgnored, "BindBucket", ignored)
	}
	if p.phase == objectbucket.PhaseFailed || p.phase == objectbucket.PhaseReleased {
		r.Events.Warn(w.claim, reconciler.FailedCreateBucket, "BindBucket", p.message)
	}
	return nil
}

// changesMessage returns what the claim reports about its changes: those that have no effect, or that a user or an
// administrator must act on, and those that are not applied yet.
func changesMessage(w *work) (ignored, pending string) {
	switch {
	case w.bucket == nil || w.reopened:
		return "", ""
	case w.change == nil:
		return ignoredChanges(w.claim, w.bucket, changedConfig(w.claim, w.bucket)), ""
	}
	if ignored = ignoredChanges(w.claim, w.bucket, w.change.ignored); !w.change.failed {
		return ignored, w.change.message
	}
	return strings.TrimSpace(ignored + " " + w.change.message), ""
}

// setStatus sets the claim's phase and message, and the conditions that follow from them. It reports whether phase or
// message changed. Conditions do not count, because the CRD of another provisioner may drop them.
func setStatus(claim *objectbucket.ObjectBucketClaim, p problem) bool {
	s := &claim.Status
	p.message = conditions.Cut(p.message, conditions.MaxMessage)
	changed := s.Phase != p.phase || s.Message != p.message
	s.Phase, s.Message = p.phase, p.message
	ready, reason := metav1.ConditionFalse, cmp.Or(p.unready, string(p.phase))
	if reason == string(objectbucket.PhaseBound) {
		ready = metav1.ConditionTrue
	}
	setCondition(claim, objectbucket.ConditionReady, ready, reason, cmp.Or(p.message, "The Secret and the ConfigMap of this claim are ready."))
	if p.stalled || p.phase == objectbucket.PhaseFailed || p.phase == objectbucket.PhaseReleased {
		setCondition(claim, objectbucket.ConditionStalled, metav1.ConditionTrue, reason, p.message)
	} else {
		meta.RemoveStatusCondition(&s.Conditions, objectbucket.ConditionStalled)
	}
	return changed
}

// setTerminating sets the status of a claim that is being deleted. The phase remains.
func setTerminating(claim *objectbucket.ObjectBucketClaim, message string) {
	claim.Status.Message = message
	setCondition(claim, objectbucket.ConditionReady, metav1.ConditionFalse, terminating, message)
	meta.RemoveStatusCondition(&claim.Status.Conditions, objectbucket.ConditionStalled)
}

func setCondition(claim *objectbucket.ObjectBucketClaim, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&claim.Status.Conditions, conditions.Change{
		Type: kind, Status: status, Reason: conditions.Reason(reason), Message: message, Generation: claim.Generation,
	})
}

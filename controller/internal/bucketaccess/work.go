// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/step"
)

// work is the state of one reconcile.
type work struct {
	kit.Turn

	// access as it was read or written last.
	access *cosiapi.BucketAccess
	// facts are what the access refers to.
	facts facts
	// protected says that this reconcile put the finalizer on.
	protected bool
	// since is the first resourceVersion, of those that this reconcile knows, in
	// which the access counts as a user of its claims.
	since string
	// class is the access's from the API server, nil unless it was read beside the
	// finalizer.
	class *cosiapi.BucketAccessClass
}

// DriverName implements kit.Work.
func (w *work) DriverName() string {
	if w.access.Status.DriverName == "" && w.facts.class != nil {
		return w.facts.class.Spec.DriverName
	}
	return w.access.Status.DriverName
}

// merge changes a condition of the access in memory, unless the sidecar has
// something graver to say in it.
func (w *work) merge(conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	conditions.Merge(&w.access.Status.Conditions, conditions.Change{
		Type: conditionType, Status: status, Reason: reason, Message: message, Generation: w.access.Generation,
	})
}

// A rule finds a problem in what an access refers to, or nil.
type rule func(*cosiapi.BucketAccess, facts) *conditions.Problem

// check establishes that a rule finds no problem. What the cache says is good
// enough to wait, as a rule, since the watch corrects it; an access is refused
// only on what the API server says.
func (r *Reconciler) check(ctx context.Context, w *work, find rule) (step.Verdict, error) {
	p := find(w.access, w.facts)
	if p != nil && p.Confirm && !w.facts.fresh {
		if err := r.regather(ctx, w); err != nil {
			return step.Verdict{}, err
		}
		p = find(w.access, w.facts)
	}
	if p == nil {
		return step.Next(), nil
	}
	return r.reportProblem(ctx, w, p)
}

// reportProblem puts a problem into the conditions of an access that is not handed
// over yet, and ends the reconcile. Its user gets an Event once for each new
// cause. That the access waits for a claim which nothing is wrong with, as every one
// does that is created together with its claim, is worth an Event at once, when the
// finalizer goes on, and a condition only if it lasts.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) (step.Verdict, error) {
	known := p.Known(w.access.Status.Conditions)
	if p.Reason == conditions.WaitingForBucketClaim && cosiapi.HasProtection(w.access) && !inuse.Judged(w.access) {
		if w.protected {
			r.Events.Inform(w.access, events.WaitingForBucket, "GrantAccess", p.Message)
		}
		left := min(r.Patience, w.access.CreationTimestamp.Add(r.Patience).Sub(r.Now()))
		if left > 0 && allUnderWay(w.access, w.facts) {
			return step.WaitAtMost(left, p.Message), nil
		}
		known = true
	}
	_, err := r.PatchStatus(ctx, w.access, func() { p.Report(&w.access.Status.Conditions, w.access.Generation) })
	if err != nil {
		return step.Verdict{}, err
	}
	switch {
	case known:
	case p.Policy == conditions.Refuses, p.Reason == conditions.WaitingForClass:
		r.Events.Warn(w.access, events.FailedGrantAccess, "GrantAccess", p.Message)
	case p.Reason == conditions.WaitingForBucketClaim:
		r.Events.Inform(w.access, events.WaitingForBucket, "GrantAccess", p.Message)
	}
	if p.Policy == conditions.Waits {
		return step.Wait(p.Message), nil
	}
	return step.Done(), nil
}

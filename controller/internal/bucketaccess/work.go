// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/step"
)

// work is the state of one reconcile.
type work struct {
	key types.NamespacedName
	// access as it was read or written last.
	access *cosiapi.BucketAccess
	// facts are what the access refers to.
	facts facts
	// live is true once facts come from the API server and not the cache.
	live bool
}

// set changes a condition of the access in memory, unless the sidecar has
// something graver to say in it.
func (w *work) set(conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
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
	if p != nil && p.Confirm && !w.live {
		if err := r.gatherLive(ctx, w); err != nil {
			return step.Verdict{}, err
		}
		p = find(w.access, w.facts)
	}
	if p == nil {
		return step.Next(), nil
	}
	return r.report(ctx, w, p)
}

// report puts a problem into the conditions of an access that is not handed
// over yet, and ends the reconcile. Its user gets an Event once for each new
// cause.
func (r *Reconciler) report(ctx context.Context, w *work, p *conditions.Problem) (step.Verdict, error) {
	known := p.Known(w.access.Status.Conditions)
	_, err := r.PatchStatus(ctx, w.access, func() { p.Report(&w.access.Status.Conditions, w.access.Generation) })
	if err != nil {
		return step.Verdict{}, err
	}
	switch {
	case known:
	case p.Policy == conditions.Refuses:
		r.Events.Warn(w.access, events.FailedGrantAccess, "GrantAccess", p.Message)
	case p.Reason == conditions.WaitingForBucketClaim:
		r.Events.Inform(w.access, events.WaitingForBucket, "GrantAccess", p.Message)
	}
	if p.Policy == conditions.Waits {
		return step.Wait(p.Message), nil
	}
	return step.Done(), nil
}

// finished reports the end of the deletion of an access.
func (r *Reconciler) finished(w *work, deleted metav1.Time) {
	o := metrics.Operation{Driver: w.access.Status.DriverName, Kind: metrics.KindBucketAccess, Name: metrics.OperationDelete}
	r.Metrics.Finished(o, r.Now().Sub(deleted.Time))
	r.Metrics.Reconciled(o, metrics.StatusSucceeded)
	if !conditions.Is(w.access.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		o.Name = metrics.OperationCreate
		r.Metrics.Reconciled(o, metrics.StatusCanceled)
	}
}

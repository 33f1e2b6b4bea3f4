// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// access as it was read; steps change it and write it.
	access *cosiapi.BucketAccess
	// stored is the status as the API server has it.
	stored cosiapi.BucketAccessStatus
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

// saveStatus writes the status if it differs from what the API server has.
func (r *Reconciler) saveStatus(ctx context.Context, w *work) error {
	if equality.Semantic.DeepEqual(w.stored, w.access.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, w.access); err != nil {
		return fmt.Errorf("write status of BucketAccess %s: %w", w.key, err)
	}
	r.written.Note(w.access)
	w.stored = *w.access.Status.DeepCopy()
	return nil
}

// saveMeta writes the metadata of the access; its status stays as it is.
func (r *Reconciler) saveMeta(ctx context.Context, w *work) error {
	status := w.access.Status
	if err := r.Client.Update(ctx, w.access); err != nil {
		return fmt.Errorf("write BucketAccess %s: %w", w.key, err)
	}
	r.written.Note(w.access)
	w.access.Status = status
	return nil
}

// A rule finds a problem in what an access refers to, or nil.
type rule func(*cosiapi.BucketAccess, facts) *problem

// judge applies a rule. What the cache says is good enough to wait, as a rule,
// since the watch corrects it; a refusal is pronounced only on what the API
// server says.
func (r *Reconciler) judge(ctx context.Context, w *work, check rule) (step.Verdict, error) {
	p := check(w.access, w.facts)
	if p != nil && (!p.wait || p.confirm) && !w.live {
		if err := r.gatherLive(ctx, w); err != nil {
			return step.Verdict{}, err
		}
		p = check(w.access, w.facts)
	}
	switch {
	case p == nil:
		return step.Next(), nil
	case p.wait:
		return step.Wait(p.message), r.pronounce(ctx, w, metav1.ConditionUnknown, p)
	default:
		return step.Done(), r.pronounce(ctx, w, metav1.ConditionFalse, p)
	}
}

// pronounce puts a problem into the conditions of an access that is not handed
// over yet, and tells the user once for each new cause.
func (r *Reconciler) pronounce(ctx context.Context, w *work, status metav1.ConditionStatus, p *problem) error {
	before := meta.FindStatusCondition(w.stored.Conditions, cosiapi.ConditionResourcesValidated)
	isNew := before == nil || before.Status != status || before.Reason != string(p.reason)
	w.set(cosiapi.ConditionResourcesValidated, status, p.reason, p.message)
	w.set(cosiapi.ConditionProvisioned, status, p.reason, p.message)
	if err := r.saveStatus(ctx, w); err != nil {
		return err
	}
	switch {
	case !isNew:
	case status == metav1.ConditionFalse:
		r.Events.Warn(w.access, events.FailedGrantAccess, "GrantAccess", p.message)
	case p.reason == conditions.WaitingForBucketClaim:
		r.Events.Inform(w.access, events.WaitingForBucket, "GrantAccess", p.message)
	}
	return nil
}

// finished reports the end of the deletion of an access.
func (r *Reconciler) finished(w *work) {
	o := metrics.Operation{Driver: w.stored.DriverName, Kind: metrics.KindBucketAccess, Name: metrics.OperationDelete}
	r.Metrics.Finished(o, time.Since(w.access.DeletionTimestamp.Time))
	r.Metrics.Reconciled(o, metrics.StatusSucceeded)
	if !conditions.Is(w.stored.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		o.Name = metrics.OperationCreate
		r.Metrics.Reconciled(o, metrics.StatusCanceled)
	}
}

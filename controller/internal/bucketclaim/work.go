// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
)

// work is the state of one reconcile.
type work struct {
	key types.NamespacedName
	// claim as it was read; steps change it and write it.
	claim *cosiapi.BucketClaim
	// stored is the status as the API server has it.
	stored cosiapi.BucketClaimStatus
	// fresh is true once this reconcile has read the claim from the API server
	// or has written it there.
	fresh bool
	// bucket is the claim's Bucket, nil while there is none.
	bucket *cosiapi.Bucket
}

// set changes a condition of the claim in memory.
func (w *work) set(conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	conditions.Set(&w.claim.Status.Conditions, conditions.Change{
		Type: conditionType, Status: status, Reason: reason, Message: message, Generation: w.claim.Generation,
	})
}

// holdOff says in memory that the claim waits for something that does not
// exist yet.
func (w *work) holdOff(reason conditions.Reason, message string) {
	w.set(cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, reason, message)
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		w.set(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, reason, message)
	}
}

// invalid says in memory that the claim cannot be served as it is.
func (w *work) invalid(reason conditions.Reason, message string) {
	w.set(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, reason, message)
	if !conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		w.set(cosiapi.ConditionProvisioned, metav1.ConditionFalse, reason, message)
	}
}

// saveStatus writes the status if it differs from what the API server has.
func (r *Reconciler) saveStatus(ctx context.Context, w *work) error {
	if equality.Semantic.DeepEqual(w.stored, w.claim.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, w.claim); err != nil {
		return fmt.Errorf("write status of BucketClaim %s: %w", w.key, err)
	}
	r.written.Note(w.claim)
	done := conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) &&
		!conditions.Is(w.stored.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	w.stored, w.fresh = *w.claim.Status.DeepCopy(), true
	if done {
		r.finished(w, metrics.OperationCreate, w.claim.CreationTimestamp)
	}
	return nil
}

// saveMeta writes the metadata of the claim; its status stays as it is.
func (r *Reconciler) saveMeta(ctx context.Context, w *work) error {
	status := w.claim.Status
	if err := r.Client.Update(ctx, w.claim); err != nil {
		return fmt.Errorf("write BucketClaim %s: %w", w.key, err)
	}
	r.written.Note(w.claim)
	w.claim.Status, w.fresh = status, true
	return nil
}

// refuse records that the claim cannot be served as it is, and tells the user
// once for each new cause.
func (r *Reconciler) refuse(ctx context.Context, w *work, reason conditions.Reason, message string) error {
	before := meta.FindStatusCondition(w.stored.Conditions, cosiapi.ConditionResourcesValidated)
	isNew := before == nil || before.Status != metav1.ConditionFalse || before.Reason != string(reason)
	w.invalid(reason, message)
	if err := r.saveStatus(ctx, w); err != nil {
		return err
	}
	if isNew {
		r.Events.Warn(w.claim, events.FailedCreateBucket, "BindBucket", message)
	}
	return nil
}

// refresh makes sure that the claim in hand is the one in the API server. It
// answers false if the claim has changed: a watch event is then on its way.
func (r *Reconciler) refresh(ctx context.Context, w *work) (bool, error) {
	if w.fresh {
		return true, nil
	}
	live := &cosiapi.BucketClaim{}
	err := r.Live.Get(ctx, w.key, live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read BucketClaim %s: %w", w.key, err)
	}
	w.fresh = live.UID == w.claim.UID && live.ResourceVersion == w.claim.ResourceVersion
	return w.fresh, nil
}

// liveBucket reads a Bucket from the API server; nil means that there is none.
func (r *Reconciler) liveBucket(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	bucket := &cosiapi.Bucket{}
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no Bucket and no failure to find out
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %s: %w", name, err)
	}
	return bucket, nil
}

// finished reports the end of an operation that began at the given time.
func (r *Reconciler) finished(w *work, operation string, began metav1.Time) {
	o := metrics.Operation{Kind: metrics.KindBucketClaim, Name: operation}
	if w.bucket != nil {
		o.Driver = w.bucket.Spec.DriverName
	}
	r.Metrics.Finished(o, time.Since(began.Time))
	r.Metrics.Reconciled(o, metrics.StatusSucceeded)
}

// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/kit"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/step"
)

// work is the state of one reconcile.
type work struct {
	kit.Turn

	// claim as it was read or written last.
	claim *cosiapi.BucketClaim
	// bucket is the claim's Bucket, nil while there is none.
	bucket *cosiapi.Bucket
	// class is the claim's, nil unless it was looked up.
	class *cosiapi.BucketClass
	// grace is the time until the first Bucket that is held for lack of its claim
	// is released unconfirmed; zero means that none will be.
	grace time.Duration
}

// set changes a condition of a claim in memory.
func set(claim *cosiapi.BucketClaim, conditionType string, status metav1.ConditionStatus, reason conditions.Reason, message string) {
	conditions.Set(&claim.Status.Conditions, conditions.Change{
		Type: conditionType, Status: status, Reason: reason, Message: message, Generation: claim.Generation,
	})
}

// write makes a change of the claim's metadata.
func (r *Reconciler) write(ctx context.Context, w *work, change func()) error {
	changed, err := r.Patch(ctx, w.claim, change)
	w.Fresh = w.Fresh || changed
	return err
}

// writeStatus makes a change of the claim's status.
func (r *Reconciler) writeStatus(ctx context.Context, w *work, change func()) error {
	provisioned := func() bool {
		return conditions.Is(w.claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	}
	before := provisioned()
	changed, err := r.PatchStatus(ctx, w.claim, change)
	if err != nil {
		return err
	}
	w.Fresh = w.Fresh || changed
	if provisioned() && !before {
		r.Finished(w.DriverName(), metrics.OperationCreate, w.claim.CreationTimestamp)
	}
	return nil
}

// reportProblem puts a problem into the conditions of the claim and ends the
// reconcile. Of one that refuses the claim it warns once for each new cause, and
// of a class that is missing, too: the user may have misspelt it.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) (step.Verdict, error) {
	known := p.Known(w.claim.Status.Conditions)
	err := r.writeStatus(ctx, w, func() { p.Report(&w.claim.Status.Conditions, w.claim.Generation) })
	if err != nil {
		return step.Verdict{}, err
	}
	waits := p.Policy == conditions.Waits
	if !known && (!waits || p.Reason == conditions.WaitingForClass) {
		r.Events.Warn(w.claim, events.FailedCreateBucket, "BindBucket", p.Message)
	}
	if waits {
		return step.Wait(p.Message), nil
	}
	return step.Done(), nil
}

// liveBucket reads a Bucket from the API server; nil means that there is none.
func (r *Reconciler) liveBucket(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	bucket := &cosiapi.Bucket{}
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, bucket)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no Bucket and no failure to find out
	}
	if err != nil {
		return nil, fmt.Errorf("read Bucket %q: %w", name, err)
	}
	return bucket, nil
}

// DriverName implements kit.Work.
func (w *work) DriverName() string {
	switch {
	case w.bucket != nil:
		return w.bucket.Spec.DriverName
	case w.class != nil:
		return w.class.Spec.DriverName
	default:
		return ""
	}
}

// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// attempt establishes that the driver may be called for this Bucket now: the
// last failure is long enough ago, and the copy that we decide by is not an
// old one out of the cache.
func (r *Reconciler) attempt(ctx context.Context, w *work) (step.Verdict, error) {
	switch wait := r.Attempts.Wait(w.req, w.state()); wait {
	case 0:
	case attempts.Forever:
		return step.Wait("a change of the Bucket or the driver"), nil
	default:
		return step.WaitAtMost(wait, "the time of the next attempt"), nil
	}
	return r.reread(ctx, w)
}

// reread establishes that the Bucket is still what the cache says.
func (r *Reconciler) reread(ctx context.Context, w *work) (step.Verdict, error) {
	if w.fresh {
		return step.Next(), nil
	}
	current, err := r.Buckets.Current(ctx, w.bucket)
	if err != nil || current {
		w.fresh = current
		return step.Next(), err
	}
	return step.Wait("the cache, which is behind the API server"), nil
}

// exclusively runs a call unless one for the same bucket ID is running; then
// the reconcile starts again when that one has ended.
func (r *Reconciler) exclusively(w *work, bucketID string, call func() error) (step.Verdict, error) {
	release := r.InFlight.Try(inflight.Call{About: []string{inflight.BucketID(bucketID)}}, func() { r.Bell.Ring(w.req) })
	if release == nil {
		return step.Wait("the end of another call for bucket ID " + bucketID), nil
	}
	defer release()
	return step.Next(), call()
}

// failed reports a failed call on the Bucket and says when it is repeated. An
// error that is no failure of the driver is returned as it is.
func (r *Reconciler) failed(ctx context.Context, w *work, err error, report func(*driver.Failure)) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	wait := r.Attempts.Failed(w.req, w.state(), attempts.Failure{Terminal: failure.Terminal(), UntilReconnect: failure.UntilReconnect()})
	if _, err := r.Buckets.PatchStatus(ctx, w.bucket, func() { report(failure) }); err != nil {
		// What nobody can read must be found out again.
		r.Attempts.Clear(w.req)
		return step.Verdict{}, err
	}
	if wait == attempts.Forever {
		return step.Wait("a change of the Bucket or the driver"), nil
	}
	return step.WaitAtMost(wait, "the time of the next attempt"), nil
}

// provisioningFailed is failed for the calls that make or verify the bucket. A
// Bucket that is provisioned stays so.
func (r *Reconciler) provisioningFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	return r.failed(ctx, w, err, func(f *driver.Failure) {
		b := w.bucket
		change := conditions.Change{
			Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionTrue,
			Reason: failureReason(f), Message: f.Error(), Generation: b.Generation,
		}
		conditions.Set(&b.Status.Conditions, validated(b, w.info))
		conditions.Set(&b.Status.Conditions, change)
		if !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
			change.Type, change.Status = cosiapi.ConditionProvisioned, metav1.ConditionUnknown
			if f.Terminal() {
				change.Status = metav1.ConditionFalse
			}
			conditions.Set(&b.Status.Conditions, change)
		}
		r.warn(b, events.FailedCreateBucket, "CreateBucket", f.Error())
	})
}

// warn emits an Event on the Bucket and repeats it on its claim, where its
// user sees it.
func (r *Reconciler) warn(b *cosiapi.Bucket, reason events.Reason, action, note string) {
	r.Events.Warn(b, reason, action, note)
	ref := b.Spec.BucketClaimRef
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace, UID: ref.UID}}
	r.Events.Warn(claim, reason, action, fmt.Sprintf("Bucket %s: %s", b.Name, note))
}

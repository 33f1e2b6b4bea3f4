// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/attempts"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// attempt establishes that the driver may be called for this access now: the
// last failure is long enough ago, and the copy that we decide by is not an old
// one out of the cache.
func (r *Reconciler) attempt(ctx context.Context, w *work) (step.Verdict, error) {
	switch wait := r.Attempts.Wait(w.req, w.state()); wait {
	case 0:
	case attempts.Forever:
		return step.Wait("a change of the BucketAccess or the driver"), nil
	default:
		return step.WaitAtMost(wait, "the time of the next attempt"), nil
	}
	return r.reread(ctx, w)
}

// reread establishes that the access is still what the cache says.
func (r *Reconciler) reread(ctx context.Context, w *work) (step.Verdict, error) {
	if w.fresh {
		return step.Next(), nil
	}
	current, err := r.Accesses.Current(ctx, w.access)
	if err != nil || current {
		w.fresh = current
		return step.Next(), err
	}
	return step.Wait("the cache, which is behind the API server"), nil
}

// exclusively runs a call unless one about the same account, or about one of its
// buckets itself, is running; then the reconcile starts again when that one has
// ended.
func (r *Reconciler) exclusively(w *work, call func() error) (step.Verdict, error) {
	var needed inflight.Call
	for _, id := range bucketIDs(w.access) {
		needed.Using = append(needed.Using, inflight.BucketID(id))
	}
	if id := w.access.Status.AccountID; id != "" {
		needed.About = append(needed.About, inflight.AccountID(id))
	}
	release := r.InFlight.Try(needed, func() { r.Bell.Ring(w.req) })
	if release == nil {
		return step.Wait("the end of another call for the same account or bucket"), nil
	}
	defer release()
	return step.Next(), call()
}

// failed reports a failed call on the access and says when it is repeated. An
// error that is no failure of the driver is returned as it is.
func (r *Reconciler) failed(ctx context.Context, w *work, err error, report func(*driver.Failure)) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	wait := r.Attempts.Failed(w.req, w.state(), attempts.Failure{Terminal: failure.Terminal(), UntilReconnect: failure.UntilReconnect()})
	if _, err := r.Accesses.PatchStatus(ctx, w.access, func() { report(failure) }); err != nil {
		// What nobody can read must be found out again.
		r.Attempts.Clear(w.req)
		return step.Verdict{}, err
	}
	if wait == attempts.Forever {
		return step.Wait("a change of the BucketAccess or the driver"), nil
	}
	return step.WaitAtMost(wait, "the time of the next attempt"), nil
}

// grantFailed is failed for the calls that make the access. An access that is
// provisioned stays so.
func (r *Reconciler) grantFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	return r.failed(ctx, w, err, func(f *driver.Failure) {
		a := w.access
		change := conditions.Change{
			Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionTrue,
			Reason: failureReason(f), Message: f.Error(), Generation: a.Generation,
		}
		conditions.Merge(&a.Status.Conditions, valid(a))
		conditions.Set(&a.Status.Conditions, change)
		if !provisioned(a) {
			change.Type, change.Status = cosiapi.ConditionProvisioned, metav1.ConditionUnknown
			if f.Terminal() {
				change.Status = metav1.ConditionFalse
			}
			conditions.Set(&a.Status.Conditions, change)
		}
		r.Events.Warn(a, events.FailedGrantAccess, "GrantAccess", f.Error())
	})
}

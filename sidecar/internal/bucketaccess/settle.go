// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// settle ends the reconcile of an access that is in order: granted for what it
// asks now, delivered, and not to be renewed yet. One that is not is not granted
// before there is a place for the response.
func (r *Reconciler) settle(ctx context.Context, w *work) (step.Verdict, error) {
	a, now := w.access, r.Now()
	periodic := r.Schedule.Next(w.Req, now)
	if w.Info.OnePhase {
		periodic = time.Time{} // many of their drivers make another key whenever they are asked
	}
	r.Expiries.note(w.Req, w.secrets, now)
	why, next := due(a, w.secrets, w.order.digest, periodic, now)
	if why != "" {
		if name := sealed(w.secrets, w.order.digest, now); name != "" {
			return r.blocked(ctx, w, &SealedError{Name: name})
		}
		if w.wish = why != intervalPassed; w.wish {
			if rest := r.Schedule.Rest(w.Req, w.Info.Epoch, now); rest > 0 {
				return step.WaitAtMost(rest, "the time of another grant, after many in a row"), nil
			}
		}
		if turn := r.turn(w, now); turn > 0 {
			return step.WaitAtMost(turn, "its turn among all that are granted again though nobody asked"), nil
		}
		w.again = occasion(a, w.secrets, w.order, why, now)
		log.FromContext(ctx).V(1).Info("Granting access", "reason", why)
		return r.shareFor(ctx, &w.Turn, a)
	}
	r.Schedule.Settled(w.Req)
	_, err := r.PatchStatus(ctx, a, func() {
		conditions.Merge(&a.Status.Conditions, w.validated())
		r.expectCleanup(a)
	})
	if err == nil {
		r.unrecorded.Store(a.Status.Cleanup == "")
	}
	if err != nil {
		return step.Verdict{}, err
	}
	r.noteInOrder(w, next)
	return untilDue(next, now), nil
}

// turn returns how long an access that works must wait until it is granted again.
func (r *Reconciler) turn(w *work, now time.Time) time.Duration {
	if !works(w.access, w.secrets, w.order, now) {
		return 0
	}
	return r.Schedule.Turn(w.Req, now)
}

// untilDue waits until an access in order is due again; a zero time means never.
func untilDue(next, now time.Time) step.Verdict {
	if next.IsZero() {
		return step.Done()
	}
	return step.WaitAtMost(max(next.Sub(now), time.Second), "the time to grant the access again")
}

// expectCleanup puts into the status that there is something to clean up, for an
// access that was granted before sidecars said so. CRDs that lack the field are
// not insisted on.
func (r *Reconciler) expectCleanup(a *cosiapi.BucketAccess) {
	if a.Status.Cleanup == "" && !r.unrecorded.Load() {
		a.Status.Cleanup = cosiapi.CleanupPending
	}
}

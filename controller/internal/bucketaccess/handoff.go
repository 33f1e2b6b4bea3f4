// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// referenceTries is the maximum number of attempts per reconcile to add the UID to the claims while other accesses do
// the same.
const referenceTries = 3

// checkClass stops an access if its class does not exist or does not allow it. It runs before the finalizer is added,
// so such an access blocks no deletion.
func (r *Reconciler) checkClass(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.checkOrRelease(ctx, w, classProblem)
}

// checkClaims stops an access if one of its claims does not exist or is being deleted.
func (r *Reconciler) checkClaims(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.checkOrRelease(ctx, w, claimsProblem)
}

// checkBuckets waits until the claims are provisioned. It stops an access that requests something that the Buckets do
// not offer.
func (r *Reconciler) checkBuckets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.check(ctx, w, bucketsProblem)
}

// checkOrRelease is like check, for problems that may appear after the finalizer was added. A stopped access then
// releases its claims, which could not be deleted otherwise. It does so even if its finalizer was removed manually.
func (r *Reconciler) checkOrRelease(ctx context.Context, w *work, find rule) (reconciler.Verdict, error) {
	verdict, err := r.check(ctx, w, find)
	if err != nil || verdict.Goes() || !cosiapi.HasProtection(w.access) && !referenced(w.access, w.facts) {
		return verdict, err
	}
	if _, err := r.removeReferences(ctx, w); err != nil {
		return reconciler.Verdict{}, err
	}
	_, err = r.Patch(ctx, w.access, func() { cosiapi.RemoveProtection(w.access) })
	return verdict, err
}

// referenced reports whether one of the claims has the UID of the access.
func referenced(access *cosiapi.BucketAccess, f facts) bool {
	return slices.ContainsFunc(access.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool {
		claim := f.claims[c.BucketClaimName]
		return claim != nil && slices.Contains(references.Of(claim), access.UID)
	})
}

// check continues if a rule finds no problem. A problem that waits may be based on the cache, because its watch ends
// the wait. A problem that refuses the access must be based on reads from the API server.
func (r *Reconciler) check(ctx context.Context, w *work, find rule) (reconciler.Verdict, error) {
	p := find(w.access, w.facts)
	if p != nil && p.Confirm && !w.facts.fresh {
		if err := r.regather(ctx, w); err != nil {
			return reconciler.Verdict{}, err
		}
		p = find(w.access, w.facts)
	}
	if p == nil {
		return reconciler.Next(), nil
	}
	return r.reportProblem(ctx, w, p)
}

// reportProblem reports a problem in the conditions of an access that is not handed off yet, and ends the reconcile.
// Each new cause emits one Event. If the access only waits for valid claims, as every access that is created together
// with its claim does, the Event is sent when the finalizer is added, and the condition is set only after Patience.
func (r *Reconciler) reportProblem(ctx context.Context, w *work, p *conditions.Problem) (reconciler.Verdict, error) {
	known := p.Known(w.access.Status.Conditions)
	if p.Reason == conditions.WaitingForBucketClaim && cosiapi.HasProtection(w.access) && !judged(w.access) {
		if w.protected {
			r.Events.Inform(w.access, reconciler.WaitingForBucket, "GrantAccess", p.Message)
		}
		left := min(r.Patience, w.access.CreationTimestamp.Add(r.Patience).Sub(r.Now()))
		if left > 0 && allInProgress(w.access, w.facts) {
			return reconciler.WaitAtMost(left, p.Message), nil
		}
		known = true
	}
	_, err := r.PatchStatus(ctx, w.access, func() { p.Report(&w.access.Status.Conditions, w.access.Generation) })
	if err != nil {
		return reconciler.Verdict{}, err
	}
	switch {
	case known:
	case p.Policy == conditions.Refuses, p.Reason == conditions.WaitingForClass:
		r.Events.Warn(w.access, reconciler.FailedGrantAccess, "GrantAccess", p.Message)
	case p.Reason == conditions.WaitingForBucketClaim:
		r.Events.Inform(w.access, reconciler.WaitingForBucket, "GrantAccess", p.Message)
	}
	if p.Policy == conditions.Waits {
		return reconciler.Wait(p.Message), nil
	}
	return reconciler.Done(), nil
}

// judged reports whether the Controller has reported anything about the access.
func judged(access *cosiapi.BucketAccess) bool {
	c := meta.FindStatusCondition(access.Status.Conditions, cosiapi.ConditionResourcesValidated)
	return c != nil && conditions.Reason(c.Reason) != conditions.Initial
}

// protect adds the protection finalizer to the access.
//
// If the hand-off follows, protect reads the class concurrently. If that read fails, confirmClass reads the class
// again.
func (r *Reconciler) protect(ctx context.Context, w *work) (reconciler.Verdict, error) {
	var reads sync.WaitGroup
	if w.access.Status.DriverName == "" && !cosiapi.HasProtection(w.access) && bucketsProblem(w.access, w.facts) == nil {
		key := types.NamespacedName{Name: w.access.Spec.BucketAccessClassName} // Patch writes to w.access
		reads.Go(func() {
			class := &cosiapi.BucketAccessClass{}
			if found, err := get(ctx, r.Live, key, class); err == nil && found {
				w.class = class
			}
		})
	}
	changed, err := r.Patch(ctx, w.access, func() { cosiapi.AddProtection(w.access) })
	reads.Wait()
	if changed {
		w.protected = true
		w.facts.fresh = false // the objects were read before the finalizer was added
	}
	return reconciler.Next(), err
}

// confirmClass checks the class from the API server, since the hand-off cannot be undone. Then it checks the claims
// that referenceClaims will patch: checkBuckets may have read them again from the API server.
func (r *Reconciler) confirmClass(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if !w.facts.fresh {
		class := w.class
		if class == nil {
			class = &cosiapi.BucketAccessClass{}
			found, err := get(ctx, r.Live, types.NamespacedName{Name: w.access.Spec.BucketAccessClassName}, class)
			if err != nil {
				return reconciler.Verdict{}, err
			}
			if !found {
				class = nil
			}
		}
		w.facts.class = class
	}
	if verdict, err := r.checkClass(ctx, w); err != nil || !verdict.Goes() {
		return verdict, err
	}
	if verdict, err := r.checkBuckets(ctx, w); err != nil || !verdict.Goes() {
		return verdict, err
	}
	return r.checkClaims(ctx, w)
}

// referenceClaims adds the UID of the access to each of its claims, in the version that was checked. If a claim has
// changed in the meantime, the write is a conflict, and the claim is read and checked again. After this step neither
// the claims nor their Buckets can be deleted. Bucket IDs never change, so the cached Buckets are sufficient.
func (r *Reconciler) referenceClaims(ctx context.Context, w *work) (reconciler.Verdict, error) {
	for tries := 1; ; tries++ {
		err := r.addReferences(ctx, w)
		if tries == referenceTries || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return reconciler.Next(), err
		}
		w.facts.fresh = false
		if err := r.regather(ctx, w); err != nil {
			return reconciler.Verdict{}, err
		}
		for _, check := range []func(context.Context, *work) (reconciler.Verdict, error){r.checkClass, r.checkClaims, r.checkBuckets} {
			if verdict, err := check(ctx, w); err != nil || !verdict.Goes() {
				return verdict, err
			}
		}
	}
}

// addReferences patches the claims that do not have the UID of the access.
func (r *Reconciler) addReferences(ctx context.Context, w *work) error {
	for _, c := range w.access.Spec.BucketClaims {
		claim := w.facts.claims[c.BucketClaimName]
		if _, err := r.Patch(ctx, claim, func() { references.Add(claim, w.access.UID) }); err != nil {
			return err
		}
	}
	return nil
}

// handOff hands the access off to the sidecar in one write.
func (r *Reconciler) handOff(ctx context.Context, w *work) (reconciler.Verdict, error) {
	waitsFor := fmt.Sprintf("Waiting for the sidecar of driver %q to grant this BucketAccess.", w.facts.class.Spec.DriverName)
	_, err := r.PatchStatus(ctx, w.access, func() {
		fill(w.access, w.facts)
		w.merge(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.ControllerValidated, waitsFor)
		w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated, validMessage)
	})
	return reconciler.Wait(waitsFor), err
}

// fill sets everything in the status that the sidecar needs, also for a revocation after class and claims were
// deleted.
func fill(access *cosiapi.BucketAccess, f facts) {
	access.Status.DriverName = f.class.Spec.DriverName
	access.Status.AuthenticationType = authenticationType(f.class)
	access.Status.Parameters = f.class.Spec.Parameters
	access.Status.DisallowedBucketAccessModes = f.class.Spec.DisallowedBucketAccessModes
	access.Status.AccessedBuckets = nil
	for _, c := range access.Spec.BucketClaims {
		bucket := f.buckets[c.BucketClaimName]
		access.Status.AccessedBuckets = append(access.Status.AccessedBuckets, cosiapi.AccessedBucket{
			BucketName: bucket.Name, BucketID: bucket.Status.BucketID, BucketClaimName: c.BucketClaimName,
		})
	}
}

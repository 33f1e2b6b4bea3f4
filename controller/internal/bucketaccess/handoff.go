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

// referenceTries is how often a reconcile tries to add its UID to the claims
// while other accesses do the same.
const referenceTries = 3

// checkClass stops an access whose class is missing or does not allow it. It
// comes before the finalizer, so that such an access holds nothing.
func (r *Reconciler) checkClass(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.checkOrRelease(ctx, w, classProblem)
}

// checkClaims stops an access whose claims are missing or being deleted.
func (r *Reconciler) checkClaims(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.checkOrRelease(ctx, w, claimsProblem)
}

// checkBuckets waits until the claims are provisioned, and stops an access that
// asks for something that their Buckets do not offer.
func (r *Reconciler) checkBuckets(ctx context.Context, w *work) (reconciler.Verdict, error) {
	return r.check(ctx, w, bucketsProblem)
}

// checkOrRelease is check for problems that may appear after the finalizer was
// added. An access that is stopped then gives up its claims, which could not be
// deleted otherwise. It does so even if its finalizer was removed manually.
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

// check continues if a rule finds no problem. The cache is good enough for a
// wait, since its watch ends that; an access is refused only for what the API
// server has.
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

// reportProblem puts a problem into the conditions of an access that is not
// handed off yet, and ends the reconcile. Each new cause is one Event. An access
// that waits for a claim on which nothing is wrong, as each one that is created
// together with its claim, gets the Event with its finalizer, and the condition
// only after Patience.
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
// If the hand-off follows, it reads the class at the same time; confirmClass
// reads it again if that fails.
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
		w.facts.fresh = false // it was read before the finalizer was there
	}
	return reconciler.Next(), err
}

// confirmClass checks the class as the API server has it, since the hand-off
// cannot be undone. Then it checks the claims that referenceClaims will patch: a
// check of their Buckets may have read them again from the API server.
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

// referenceClaims adds the UID of the access to each of its claims, in the
// version that was checked: a claim that changed meanwhile is a conflict, and is
// read and checked again. From here on the claims cannot be deleted, nor their
// Buckets, whose IDs never change: of those the cache is good enough.
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

// handOff gives the access to the sidecar, in one write.
func (r *Reconciler) handOff(ctx context.Context, w *work) (reconciler.Verdict, error) {
	waitsFor := fmt.Sprintf("Waiting for the sidecar of driver %q to grant this BucketAccess.", w.facts.class.Spec.DriverName)
	_, err := r.PatchStatus(ctx, w.access, func() {
		fill(w.access, w.facts)
		w.merge(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.ControllerValidated, waitsFor)
		w.merge(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated, validMessage)
	})
	return reconciler.Wait(waitsFor), err
}

// fill puts into the status all that the sidecar needs, also to revoke the
// access after class and claims were deleted.
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

// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Decisive returns the condition that decides whether an object that is not being deleted can be used. Of several
// problems, it is the one that must be resolved first. It returns nil if the object has no condition of the KEP.
func Decisive(list []metav1.Condition) *metav1.Condition {
	provisioned := meta.FindStatusCondition(list, cosiapi.ConditionProvisioned)
	is := func(conditionType string, status metav1.ConditionStatus) *metav1.Condition {
		if c := meta.FindStatusCondition(list, conditionType); c != nil && c.Status == status {
			return c
		}
		return nil
	}
	held := is(cosiapi.ConditionReleaseHeld, metav1.ConditionTrue)
	invalid := is(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse)
	waits := is(cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown)
	failed := is(cosiapi.ConditionProvisionFailed, metav1.ConditionTrue)
	switch {
	case held != nil:
		return held
	case provisioned != nil && provisioned.Status == metav1.ConditionFalse:
		return provisioned
	case invalid != nil:
		return invalid
	case provisioned != nil && provisioned.Status == metav1.ConditionTrue:
		return provisioned
	case failed != nil && waits == nil: // while COSI waits for other objects, it makes no calls, so the failure is old
		return failed
	default:
		return provisioned
	}
}

// Summarize sets Ready, and sets or removes Stalled, from the other conditions of an object (docs/adr/0061-ready.md).
// The result depends on nothing else, so the controller and the sidecar set the same values.
func Summarize(list *[]metav1.Condition) {
	decisive := Decisive(*list)
	if decisive == nil {
		return
	}
	ready := Change{
		Type: cosiapi.ConditionReady, Status: decisive.Status, Reason: Reason(decisive.Reason),
		Message: decisive.Message, Generation: decisive.ObservedGeneration,
	}
	if decisive.Type != cosiapi.ConditionProvisioned {
		ready.Status = metav1.ConditionFalse // ProvisionFailed=True and ReleaseHeld=True are problems
	}
	Set(list, ready)
	if ready.Status != metav1.ConditionFalse || !ready.Reason.Stalled() {
		meta.RemoveStatusCondition(list, cosiapi.ConditionStalled)
		return
	}
	stalled := ready
	stalled.Type, stalled.Status = cosiapi.ConditionStalled, metav1.ConditionTrue
	Set(list, stalled)
}

// Summarized reports whether Ready and Stalled agree with the other conditions.
func Summarized(list []metav1.Condition) bool {
	now := slices.Clone(list)
	Summarize(&now)
	return slices.Equal(list, now)
}

// IsSummary reports whether a condition only repeats others.
func IsSummary(c metav1.Condition) bool {
	return c.Type == cosiapi.ConditionReady || c.Type == cosiapi.ConditionStalled
}

// Of returns the conditions of a BucketClaim, Bucket or BucketAccess, or nil for any other object.
func Of(obj any) *[]metav1.Condition {
	switch o := obj.(type) {
	case *cosiapi.BucketClaim:
		return &o.Status.Conditions
	case *cosiapi.Bucket:
		return &o.Status.Conditions
	case *cosiapi.BucketAccess:
		return &o.Status.Conditions
	default:
		return nil
	}
}

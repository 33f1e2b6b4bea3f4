// SPDX-License-Identifier: Apache-2.0

// Package inuse holds the one rule by which a BucketAccess keeps a BucketClaim
// in use. The claim's reconciler uses it to mark and to hold the claim, the
// access's reconciler to know when its mark must be gone. It only judges the
// objects it is given.
package inuse

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// A State is what matters of a BucketAccess to the claims it references.
type State struct {
	// Holds is true while the access has the protection finalizer and its cleanup
	// is not finished.
	Holds bool
	// Pending is true while the Controller has not judged the access at all.
	Pending bool
}

// Blocks reports whether the access keeps its claims marked as in use, and whether
// one that is being deleted must wait for it.
func (s State) Blocks() bool { return s.Holds || s.Pending }

// StateOf returns the state of an access. A terminating access holds its
// claims until the sidecar has finished, or at once if it never had a sidecar.
func StateOf(access *cosiapi.BucketAccess) State {
	deleting := !access.DeletionTimestamp.IsZero()
	if cosiapi.HasProtection(access) {
		finished := deleting && (access.Status.DriverName == "" || access.CleanedUp())
		return State{Holds: !finished}
	}
	return State{Pending: !deleting && !Judged(access)}
}

// Changed lets pass the events of an access that matter to its claims, and to
// the other accesses to them.
func Changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*cosiapi.BucketAccess)
		if !ok {
			return true
		}
		after, ok := e.ObjectNew.(*cosiapi.BucketAccess)
		return !ok || StateOf(before) != StateOf(after)
	}}
}

// Judged reports whether the Controller has said anything about the access.
func Judged(access *cosiapi.BucketAccess) bool {
	c := meta.FindStatusCondition(access.Status.Conditions, cosiapi.ConditionResourcesValidated)
	return c != nil && conditions.Reason(c.Reason) != conditions.Initial
}

// References reports whether the access asks for the claim of that name.
func References(access *cosiapi.BucketAccess, claimName string) bool {
	return slices.ContainsFunc(access.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool {
		return c.BucketClaimName == claimName
	})
}

// Blockers returns those of the accesses that keep the claim of that name in use, by
// name, so that what is said of them does not change with the order of a list.
func Blockers(accesses []cosiapi.BucketAccess, claimName string) []*cosiapi.BucketAccess {
	var kept []*cosiapi.BucketAccess
	for i := range accesses {
		access := &accesses[i]
		if References(access, claimName) && StateOf(access).Blocks() {
			kept = append(kept, access)
		}
	}
	slices.SortFunc(kept, func(a, b *cosiapi.BucketAccess) int { return strings.Compare(a.Name, b.Name) })
	return kept
}

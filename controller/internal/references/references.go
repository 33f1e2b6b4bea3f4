// SPDX-License-Identifier: Apache-2.0

// Package references maintains, on each BucketClaim, the UIDs of the BucketAccesses that use the claim. It also decides
// which accesses keep a terminating claim in use. It only inspects and changes the objects that the caller passes.
//
// The UIDs are stored in the annotation has-bucketaccess-references, sorted and separated by commas. The UID of an
// access is added before the hand-off, if the claim is not being deleted, and removed after the cleanup. Both patches
// contain the resourceVersion of the claim, so a terminating claim gets no new UIDs (ADR 0053).
package references

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

const (
	annotation = cosiapi.HasBucketAccessReferencesAnnotation
	// legacyValue is the value of the annotation in earlier versions.
	legacyValue = "true"
)

// Of returns the UIDs on the claim, sorted.
func Of(claim *cosiapi.BucketClaim) []types.UID {
	var uids []types.UID
	for value := range strings.SplitSeq(claim.Annotations[annotation], ",") {
		if value != "" && value != legacyValue {
			uids = append(uids, types.UID(value))
		}
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// Add adds a UID to the claim in memory.
func Add(claim *cosiapi.BucketClaim, uid types.UID) { set(claim, append(Of(claim), uid)) }

// Remove removes UIDs from the claim in memory. With the last UID it also removes the annotation. It does not change an
// annotation without UIDs.
func Remove(claim *cosiapi.BucketClaim, uids ...types.UID) {
	had := Of(claim)
	left := slices.DeleteFunc(slices.Clone(had), sets.New(uids...).Has)
	if len(left) < len(had) {
		set(claim, left)
	}
}

// Legacy reports whether the claim has the annotation of an earlier version, which contains no UIDs.
func Legacy(claim *cosiapi.BucketClaim) bool {
	return cosiapi.HasAnnotation(claim, annotation) && len(Of(claim)) == 0
}

// Clear removes the annotation from the claim in memory.
func Clear(claim *cosiapi.BucketClaim) { cosiapi.RemoveAnnotation(claim, annotation) }

// set sets the sorted UIDs on the claim.
func set(claim *cosiapi.BucketClaim, uids []types.UID) {
	if len(uids) == 0 {
		Clear(claim)
		return
	}
	slices.Sort(uids)
	values := make([]string, 0, len(uids))
	for _, uid := range slices.Compact(uids) {
		values = append(values, string(uid))
	}
	cosiapi.SetAnnotation(claim, annotation, strings.Join(values, ","))
}

// Holds reports whether an access uses the claims that it refers to, even if its UID is not on them. An access uses its
// claims while it has the protection finalizer and its cleanup has not finished. An access that is deleted before its
// hand-off needs no cleanup.
func Holds(access *cosiapi.BucketAccess) bool {
	finished := access.DeletionTimestamp != nil && (access.Status.DriverName == "" || access.CleanedUp())
	return cosiapi.HasProtection(access) && !finished
}

// Blockers returns the accesses that a terminating claim must wait for, sorted by name. These are the accesses that
// refer to the claim and either use it or have their UID on it. An access removes its own UID.
func Blockers(claim *cosiapi.BucketClaim, accesses []cosiapi.BucketAccess) []*cosiapi.BucketAccess {
	var blockers []*cosiapi.BucketAccess
	uids := sets.New(Of(claim)...)
	for i := range accesses {
		access := &accesses[i]
		if To(access, claim.Name) && (Holds(access) || uids.Has(access.UID)) {
			blockers = append(blockers, access)
		}
	}
	slices.SortFunc(blockers, func(a, b *cosiapi.BucketAccess) int { return strings.Compare(a.Name, b.Name) })
	return blockers
}

// Unknown returns the UIDs on the claim that belong to none of the given accesses.
func Unknown(claim *cosiapi.BucketClaim, accesses []cosiapi.BucketAccess) []types.UID {
	known := sets.New[types.UID]()
	for i := range accesses {
		if To(&accesses[i], claim.Name) {
			known.Insert(accesses[i].UID)
		}
	}
	return slices.DeleteFunc(Of(claim), known.Has)
}

// To reports whether the access refers to the claim with that name.
func To(access *cosiapi.BucketAccess, claimName string) bool {
	return slices.ContainsFunc(access.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool { return c.BucketClaimName == claimName })
}

// Changed selects the events of accesses that may end the wait of a claim: an access that uses the claim appears, stops
// using it, is deleted, or is replaced by another access with the same name.
func Changed() predicate.Predicate {
	holds := func(obj client.Object) bool {
		access, ok := obj.(*cosiapi.BucketAccess)
		return ok && Holds(access)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return holds(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return holds(e.ObjectOld) != holds(e.ObjectNew) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
		},
	}
}

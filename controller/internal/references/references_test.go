// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/references"
)

const annotation = cosiapi.HasBucketAccessReferencesAnnotation

func claimWith(value string) *cosiapi.BucketClaim {
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Name: "photos"}}
	if value != "" {
		claim.Annotations = map[string]string{annotation: value}
	}
	return claim
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before string
		change func(*cosiapi.BucketClaim)
		want   string // empty means no annotation
	}{
		"the first UID":                                     {"", func(c *cosiapi.BucketClaim) { references.Add(c, "b") }, "b"},
		"UIDs are sorted":                                   {"b", func(c *cosiapi.BucketClaim) { references.Add(c, "a") }, "a,b"},
		"a UID is added once":                               {"a,b", func(c *cosiapi.BucketClaim) { references.Add(c, "b") }, "a,b"},
		"a UID replaces an earlier version's":               {"true", func(c *cosiapi.BucketClaim) { references.Add(c, "a") }, "a"},
		"empty values are dropped":                          {",a,,", func(c *cosiapi.BucketClaim) { references.Add(c, "b") }, "a,b"},
		"one of two is removed":                             {"a,b", func(c *cosiapi.BucketClaim) { references.Remove(c, "a") }, "b"},
		"the annotation is removed with the last reference": {"a", func(c *cosiapi.BucketClaim) { references.Remove(c, "a", "c") }, ""},
		"a UID that is not there":                           {"a", func(c *cosiapi.BucketClaim) { references.Remove(c, "b") }, "a"},
		"no UID leaves an earlier version's":                {"true", func(c *cosiapi.BucketClaim) { references.Remove(c, "b") }, "true"},
		"an annotation is cleared as a whole":               {"a,b", references.Clear, ""},
		"a claim without one stays without it":              {"", func(c *cosiapi.BucketClaim) { references.Remove(c, "b") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := claimWith(tc.before)
			tc.change(claim)
			got, has := claim.Annotations[annotation]
			if got != tc.want || has != (tc.want != "") {
				t.Errorf("want %q, got %q (there: %v)", tc.want, got, has)
			}
		})
	}
}

func TestLegacy(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "true": true, ",": true, "a": false, "a,true": false} {
		if got := references.Legacy(claimWith(value)); got != want {
			t.Errorf("%q: want %v, got %v", value, want, got)
		}
	}
}

// access returns an access to the claim photos, in a state that is a sum of these constants.
func access(uid types.UID, is int) cosiapi.BucketAccess {
	a := cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Name: "access-" + string(uid), UID: uid}}
	a.Spec.BucketClaims = []cosiapi.BucketClaimAccess{{BucketClaimName: "photos"}}
	if is&protected != 0 {
		cosiapi.AddProtection(&a)
	}
	if is&deleted != 0 {
		now := metav1.Now()
		a.DeletionTimestamp = &now
	}
	if is&handedOff != 0 {
		a.Status.DriverName = "s3"
	}
	if is&cleaned != 0 {
		cosiapi.SetAnnotation(&a, cosiapi.SidecarCleanupFinishedAnnotation, "true")
	}
	return a
}

const protected, deleted, handedOff, cleaned = 1, 2, 4, 8

func TestBlockers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		is int
		// holds is the result for a claim without the UID, listed the result for a claim with it.
		holds, listed bool
	}{
		"just created":                                 {0, false, true},
		"protected":                                    {protected, true, true},
		"handed off":                                   {protected | handedOff, true, true},
		"deleted before its hand-off":                  {protected | deleted, false, true},
		"deleted and not cleaned up":                   {protected | handedOff | deleted, true, true},
		"deleted and cleaned up":                       {protected | handedOff | deleted | cleaned, false, true},
		"cleaned up by a forged annotation":            {protected | handedOff | cleaned, true, true},
		"handed off, its finalizer removed manually":   {handedOff, false, true},
		"deleted after its finalizer was removed, too": {handedOff | deleted, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []cosiapi.BucketAccess{access("a", tc.is)}
			if got := references.Holds(&all[0]); got != tc.holds {
				t.Errorf("Holds: want %v, got %v", tc.holds, got)
			}
			if got := len(references.Blockers(claimWith("b"), all)) == 1; got != tc.holds {
				t.Errorf("without the UID: want %v, got %v", tc.holds, got)
			}
			if got := len(references.Blockers(claimWith("a,b"), all)) == 1; got != tc.listed {
				t.Errorf("with the UID: want %v, got %v", tc.listed, got)
			}
			other := claimWith("a")
			other.Name = "films"
			if got := references.Blockers(other, all); len(got) > 0 {
				t.Errorf("it blocks a claim that it does not refer to: %v", got)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	all := []cosiapi.BucketAccess{access("a", 0), access("b", protected), access("d", protected)}
	all[2].Spec.BucketClaims[0].BucketClaimName = "films"
	want := []types.UID{"c", "d"}
	if diff := cmp.Diff(want, references.Unknown(claimWith("a,b,c,d"), all)); diff != "" {
		t.Errorf("UIDs without an access to the claim (-want +got):\n%s", diff)
	}
	if got := references.Unknown(claimWith("true"), nil); len(got) > 0 {
		t.Errorf("an earlier version's annotation names no access: %v", got)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after cosiapi.BucketAccess
		want          bool
	}{
		"it begins to hold":                            {access("a", 0), access("a", protected), true},
		"its cleanup has finished":                     {access("a", protected|handedOff|deleted), access("a", protected|handedOff|deleted|cleaned), true},
		"it is handed off":                             {access("a", protected), access("a", protected|handedOff), false},
		"it is another one in the same state":          {access("a", protected), access("b", protected), true},
		"it is another one that does not hold either":  {access("a", 0), access("b", 0), true},
		"its deletion begins, and the sidecar is next": {access("a", protected|handedOff), access("a", protected|handedOff|deleted), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := references.Changed().Update(event.UpdateEvent{ObjectOld: &tc.before, ObjectNew: &tc.after}); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
	appears := func(is int) bool {
		a := access("a", is)
		return references.Changed().Create(event.CreateEvent{Object: &a})
	}
	if got := []bool{appears(0), appears(protected)}; !slices.Equal(got, []bool{false, true}) {
		t.Errorf("an access that appears without and with the finalizer: %v", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestAnnotations(t *testing.T) {
	t.Parallel()
	const key = cosiapi.BucketClaimBeingDeletedAnnotation
	for name, tc := range map[string]struct {
		before  map[string]string
		present bool
		set     map[string]string // after SetAnnotation(key, "Delete")
		removed map[string]string // after RemoveAnnotation(key) on before
	}{
		"absent": {nil, false, map[string]string{key: "Delete"}, nil},
		"present without a value": {
			map[string]string{key: ""}, true, map[string]string{key: "Delete"}, map[string]string{},
		},
		"in the spelling of the KEP's control flows": {
			map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": "", "x": "y"},
			true,
			map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": "", "x": "y", key: "Delete"},
			map[string]string{"x": "y"},
		},
		"another one of the group": {
			map[string]string{cosiapi.HasBucketAccessReferencesAnnotation: "true"},
			false,
			map[string]string{cosiapi.HasBucketAccessReferencesAnnotation: "true", key: "Delete"},
			map[string]string{cosiapi.HasBucketAccessReferencesAnnotation: "true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &cosiapi.Bucket{}
			bucket.Annotations = tc.before
			if got := cosiapi.HasAnnotation(bucket, key); got != tc.present {
				t.Errorf("HasAnnotation: want %v, got %v", tc.present, got)
			}
			set := bucket.DeepCopy()
			if !cosiapi.SetAnnotation(set, key, "Delete") || cosiapi.SetAnnotation(set, key, "Delete") {
				t.Error("SetAnnotation must report a change the first time and none the second")
			}
			if diff := cmp.Diff(tc.set, set.Annotations); diff != "" {
				t.Errorf("SetAnnotation (-want +got):\n%s", diff)
			}
			removed := bucket.DeepCopy()
			if got := cosiapi.RemoveAnnotation(removed, key); got != tc.present {
				t.Errorf("RemoveAnnotation: want %v, got %v", tc.present, got)
			}
			if diff := cmp.Diff(tc.removed, removed.Annotations); diff != "" {
				t.Errorf("RemoveAnnotation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOtherAnnotationHasOneSpelling(t *testing.T) {
	t.Parallel()
	access := &cosiapi.BucketAccess{}
	if cosiapi.HasAnnotation(access, cosiapi.RotateAnnotation) {
		t.Error("an annotation that is not there is reported")
	}
	cosiapi.SetAnnotation(access, cosiapi.RotateAnnotation, "1")
	if !cosiapi.RemoveAnnotation(access, cosiapi.RotateAnnotation) || len(access.Annotations) != 0 {
		t.Errorf("left: %v", access.Annotations)
	}
}

func TestProtection(t *testing.T) {
	t.Parallel()
	claim := &cosiapi.BucketClaim{}
	claim.Finalizers = []string{"example.com/other"}
	shared := claim.Finalizers
	if !cosiapi.AddProtection(claim) || cosiapi.AddProtection(claim) {
		t.Error("AddProtection must report a change the first time and none the second")
	}
	if diff := cmp.Diff([]string{"example.com/other", cosiapi.ProtectionFinalizer}, claim.Finalizers); diff != "" {
		t.Errorf("with protection (-want +got):\n%s", diff)
	}
	if !cosiapi.RemoveProtection(claim) || cosiapi.RemoveProtection(claim) {
		t.Error("RemoveProtection must report a change the first time and none the second")
	}
	if diff := cmp.Diff([]string{"example.com/other"}, claim.Finalizers); diff != "" {
		t.Errorf("without protection (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/other"}, shared); diff != "" {
		t.Errorf("a slice of the caller was changed (-want +got):\n%s", diff)
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	marked := &cosiapi.Bucket{}
	marked.UID, marked.Spec.DeletionPolicy = "b1", cosiapi.DeletionPolicyDelete
	mark := cosiapi.ReleaseMark(marked)
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"not marked":                      {nil, false},
		"marked":                          {map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: mark}, true},
		"marked before it was restored":   {map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: "Delete/b0"}, false},
		"marked by another controller":    {map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: "true"}, true},
		"marked in the KEP's misspelling": {map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := marked.DeepCopy()
			bucket.Annotations = tc.annotations
			if got := cosiapi.Released(bucket); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestNamesFromUIDs(t *testing.T) {
	t.Parallel()
	if got := cosiapi.BucketNameFor("5d1c"); got != "bc-5d1c" {
		t.Errorf("Bucket: want bc-5d1c, got %s", got)
	}
	if got := cosiapi.AccountNameFor("5d1c"); got != "ba-5d1c" {
		t.Errorf("account: want ba-5d1c, got %s", got)
	}
}

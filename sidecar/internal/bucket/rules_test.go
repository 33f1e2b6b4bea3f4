// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestFateOf(t *testing.T) {
	t.Parallel()
	annotated := func(b *cosiapi.Bucket) {
		b.Annotations = map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: ""}
	}
	misspelled := func(b *cosiapi.Bucket) {
		b.Annotations = map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}
	}
	marked := func(value string) func(*cosiapi.Bucket) {
		return func(b *cosiapi.Bucket) {
			b.Annotations = map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: value}
		}
	}
	deleting := func(b *cosiapi.Bucket) { b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	retained := func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }
	unbound := func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "" }
	unmade := func(b *cosiapi.Bucket) { b.Status.BucketID = "" }
	requested := func(b *cosiapi.Bucket) { // by a sidecar of an earlier version, which did not store the ID
		b.Status.BucketID = ""
		cosiapi.SetAnnotation(b, cosiapi.AskedForAnnotation, b.Name)
	}
	imported := func(b *cosiapi.Bucket) { b.Spec.ExistingBucketID = "id" }
	for name, tc := range map[string]struct {
		is   []func(*cosiapi.Bucket)
		want plan
	}{
		"a Bucket with a claim is provisioned":                                   {nil, provision},
		"a Bucket without a claim is provisioned":                                {[]func(*cosiapi.Bucket){unbound}, provision},
		"the annotation alone deletes nothing":                                   {[]func(*cosiapi.Bucket){annotated}, retain},
		"the annotation alone keeps a retained Bucket":                           {[]func(*cosiapi.Bucket){annotated, retained}, retain},
		"a deleted Bucket waits for its claim":                                   {[]func(*cosiapi.Bucket){deleting}, hold},
		"a deleted Bucket waits for its claim although nothing was made":         {[]func(*cosiapi.Bucket){deleting, unmade}, hold},
		"a deleted Bucket to retain waits for its claim, too":                    {[]func(*cosiapi.Bucket){deleting, retained}, hold},
		"both signs delete the bucket":                                           {[]func(*cosiapi.Bucket){deleting, annotated}, remove},
		"both signs delete the bucket, also with the spelling in the KEP":        {[]func(*cosiapi.Bucket){deleting, misspelled}, remove},
		"both signs, with the UID of the Bucket, delete the bucket":              {[]func(*cosiapi.Bucket){deleting, marked("Delete/uid")}, remove},
		"the mark of a backup does not delete the bucket":                        {[]func(*cosiapi.Bucket){deleting, marked("Delete/another")}, hold},
		"the mark of a backup alone is none":                                     {[]func(*cosiapi.Bucket){marked("Delete/another")}, provision},
		"both signs, but nothing was made":                                       {[]func(*cosiapi.Bucket){deleting, annotated, unmade}, release},
		"both signs, and the bucket was requested, but has no known ID":          {[]func(*cosiapi.Bucket){deleting, annotated, requested}, remove},
		"both signs, and the bucket was requested, but the policy is Retain":     {[]func(*cosiapi.Bucket){deleting, annotated, requested, retained}, release},
		"a requested bucket that no claim ever bound is not deleted by one sign": {[]func(*cosiapi.Bucket){deleting, unbound, requested}, hold},
		"both signs, but the policy is Retain":                                   {[]func(*cosiapi.Bucket){deleting, annotated, retained}, release},
		"both signs, but the bucket is imported":                                 {[]func(*cosiapi.Bucket){deleting, annotated, imported}, release},
		"a Bucket with Retain that no claim ever bound is released when deleted": {[]func(*cosiapi.Bucket){deleting, retained, unbound}, release},
		"a Bucket that was never bound or created is released when deleted":      {[]func(*cosiapi.Bucket){deleting, unbound, unmade}, release},
		"a made bucket that no claim ever bound is not deleted by one sign":      {[]func(*cosiapi.Bucket){deleting, unbound}, hold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &cosiapi.Bucket{}
			b.UID = "uid"
			b.Spec.DeletionPolicy, b.Spec.BucketClaimRef.UID, b.Status.BucketID = cosiapi.DeletionPolicyDelete, "uid", "id"
			for _, change := range tc.is {
				change(b)
			}
			if got := planOf(b); got != tc.want {
				t.Errorf("want %d, got %d", tc.want, got)
			}
		})
	}
}

func TestAdopted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id, created string
		protocols   []cosiapi.Protocol
		want        bool
	}{
		"a driver told others of the bucket":         {id: "id", protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}, want: true},
		"our Controller made it":                     {id: "id", created: "2030-01-01T00:00:00Z", protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
		"it has an ID, but the bucket may not exist": {id: "id"},
		"its ID is unknown":                          {protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &cosiapi.Bucket{}
			b.Status.BucketID, b.Status.Protocols = tc.id, tc.protocols
			if tc.created != "" {
				cosiapi.SetAnnotation(b, cosiapi.CreatedAnnotation, tc.created)
			}
			if got := adopted(b); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestHoldMessage(t *testing.T) {
	t.Parallel()
	b := &cosiapi.Bucket{}
	b.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "ns", Name: "claim", UID: "uid"}
	if got := holdMessage(b); !strings.Contains(got, "ns/claim") {
		t.Errorf("the claim is not named: %s", got)
	}
	b.Spec.BucketClaimRef.UID = ""
	if got := holdMessage(b); !strings.Contains(got, cosiapi.BucketClaimBeingDeletedAnnotation) || !strings.Contains(got, "Retain") {
		t.Errorf("the two ways out are not named: %s", got)
	}
}

func TestNeedsBucket(t *testing.T) {
	t.Parallel()
	leaves := func(b *cosiapi.Bucket) {
		b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		b.Annotations = map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: ""}
	}
	imports := func(b *cosiapi.Bucket) {
		b.Spec.DeletionPolicy, b.Spec.ExistingBucketID, b.Status.BucketID = cosiapi.DeletionPolicyRetain, "id", ""
	}
	for name, tc := range map[string]struct {
		other []func(*cosiapi.Bucket)
		want  bool
	}{
		"it is wanted":                    {nil, true},
		"an import":                       {[]func(*cosiapi.Bucket){imports}, true},
		"it was released and is retained": {[]func(*cosiapi.Bucket){leaves, func(b *cosiapi.Bucket) { b.DeletionTimestamp = nil }}, true},
		"it is being deleted with Retain": {[]func(*cosiapi.Bucket){
			leaves, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain },
		}, true},
		"it may be deleted, too":    {[]func(*cosiapi.Bucket){leaves}, false},
		"it is the same":            {[]func(*cosiapi.Bucket){func(b *cosiapi.Bucket) { b.UID = "one" }}, false},
		"it has another ID":         {[]func(*cosiapi.Bucket){func(b *cosiapi.Bucket) { b.Status.BucketID = "ID" }}, false},
		"it is of another driver":   {[]func(*cosiapi.Bucket){func(b *cosiapi.Bucket) { b.Spec.DriverName = "other" }}, false},
		"it imports something else": {[]func(*cosiapi.Bucket){imports, func(b *cosiapi.Bucket) { b.Spec.ExistingBucketID = "x" }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &cosiapi.Bucket{}
			b.UID, b.Spec.DriverName, b.Spec.DeletionPolicy, b.Status.BucketID = "one", "driver", cosiapi.DeletionPolicyDelete, "id"
			leaves(b)
			other := &cosiapi.Bucket{}
			other.UID, other.Spec.DriverName, other.Spec.DeletionPolicy, other.Status.BucketID = "two", "driver", cosiapi.DeletionPolicyDelete, "id"
			for _, change := range tc.other {
				change(other)
			}
			if got := needsBucket(other, b); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestImportsSameBucket(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		driver, imported, id string
		want                 bool
	}{
		"the same ID":                            {"two", "photos", "photos", true},
		"another ID":                             {"two", "films", "photos", false},
		"the ID without the name of the backend": {"two", "photos", "east.photos", true},
		"the ID with the name of a backend":      {"two", "west.photos", "photos", true},
		"another name for the backend":           {"two", "west.photos", "east.photos", true},
		"another bucket of that backend":         {"two", "east.films", "east.photos", false},
		"the name in an ID of the adapter":       {"two", "photos", "cosi/0123abcd/photos", true},
		"an ID of the adapter":                   {"two", "cosi/0123abcd/photos", "photos", true},
		"an ID that only begins like one of it":  {"two", "cosi/films", "cosi/photos", false},
		"another bucket of the adapter":          {"two", "cosi/0123abcd/films", "photos", false},
		"a Bucket of the same driver":            {"one", "photos", "photos", false},
		"a Bucket that imports nothing":          {"two", "", "", false},
		"an ID that ends with a dot":             {"two", "east.", "west.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, other := &cosiapi.Bucket{}, &cosiapi.Bucket{}
			b.Spec.DriverName, b.Status.BucketID = "one", tc.id
			other.Spec.DriverName, other.Spec.ExistingBucketID = tc.driver, tc.imported
			if got := importsSameBucket(other, b); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

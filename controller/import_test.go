// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// KEP-1979, "Accessing an Existing OSP Bucket": finalizer, UID on the Bucket, name on the claim, in that order. The
// status of the Bucket, if there is one, is copied with the last write.
func TestImport(t *testing.T) {
	t.Parallel()
	s := start(t)
	bucket := s.newImported("archive", "photos")
	s.protectBucket(bucket)
	s.provision(bucket, cosiapi.ProtocolS3, cosiapi.ProtocolGCS)
	s.settled()
	before := len(s.writes())
	claim := s.importing("photos", "archive", cosiapi.ProtocolS3)
	s.Create(claim)
	s.untilProvisioned(claim)
	want := cosiapi.BucketClaimReference{Namespace: s.namespace, Name: "photos", UID: claim.UID}
	if diff := cmp.Diff(want, testenv.Get(s.Env, bucket).Spec.BucketClaimRef); diff != "" {
		t.Errorf("bucketClaimRef (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolGCS}, claim.Status.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	s.untilWritesAfter(before,
		"patch bucketclaims photos",
		"patch buckets "+bucket.Name,
		"patch bucketclaims/status photos",
	)
}

// untilWritesAfter is untilWrites without the first n writes.
func (s *system) untilWritesAfter(n int, want ...string) {
	s.t.Helper()
	s.UntilWrites(s.writes, n, want...)
}

// The watch of Buckets triggers the claim.
func TestImportWaitsForItsBucket(t *testing.T) {
	t.Parallel()
	s := start(t)
	claim := s.importing("photos", "archive")
	s.Create(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucket)
	if claim.Status.BoundBucketName != "" {
		t.Errorf("bound to %q, which does not exist", claim.Status.BoundBucketName)
	}
	bucket := s.newImported("archive", "photos")
	s.bound(claim)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucket)
	s.provision(bucket)
	s.untilProvisioned(claim)
}

// A stale cache must not make the claim report a missing Bucket.
func TestImportWhoseBucketIsNotInTheCache(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.wrapClient = func(c client.Client) client.Client { return lateBuckets{c} }
	s.run()
	s.provision(s.newImported("archive", "photos"))
	claim := s.importing("photos", "archive")
	s.Create(claim)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// The claim reports a Bucket that is reserved for a namespace out of the Controller's scope.
func TestImportOfABucketForAnotherNamespace(t *testing.T) {
	t.Parallel()
	s := start(t)
	claim := s.importing("photos", "archive")
	s.Create(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucket)
	s.newImported("archive", "photos", func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Namespace = "elsewhere" })
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
}

// The claim stays unbound, so it can bind after the administrator has corrected the Bucket.
func TestImportOfABucketForAnotherClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	wrong := s.newImported("archive", "films")
	claim := s.importing("photos", "archive")
	s.Create(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BindingInvalid)
	if claim.Status.BoundBucketName != "" || testenv.Get(s.Env, wrong).Spec.BucketClaimRef.UID != "" {
		t.Fatalf("bound: claim to %q, Bucket to %q", claim.Status.BoundBucketName, wrong.Spec.BucketClaimRef.UID)
	}
	s.Delete(wrong)
	s.Gone(wrong)
	bucket := s.newImported("archive", "photos")
	s.bound(claim)
	s.provision(bucket)
	s.untilProvisioned(claim)
}

// One Bucket is used by two claims of the same name, one after the other.
func TestImportedBucketBindsOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	bucket := s.newImported("archive", "photos")
	s.protectBucket(bucket)
	s.provision(bucket)
	first := s.importing("photos", "archive")
	s.Create(first)
	s.untilProvisioned(first)
	uid := first.UID
	s.Delete(first)
	s.Gone(first)
	testenv.Until(s.Env, bucket, "the Bucket is marked and kept", func(b *cosiapi.Bucket) error {
		if !cosiapi.HasAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation) || !b.DeletionTimestamp.IsZero() {
			return fmt.Errorf("annotations %v, deletionTimestamp %v", b.Annotations, b.DeletionTimestamp)
		}
		return nil
	})
	second := s.importing("photos", "archive")
	s.Create(second)
	s.untilCondition(second, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	if got := testenv.Get(s.Env, bucket).Spec.BucketClaimRef.UID; got != uid {
		t.Errorf("bucketClaimRef.uid: want %s, got %s", uid, got)
	}
	// The administrator imports it again: deletes and recreates the object.
	s.Delete(bucket)
	s.dropFinalizer(bucket)
	s.Gone(bucket)
	again := s.newImported("archive", "photos")
	s.bound(second)
	s.provision(again)
	s.untilProvisioned(second)
}

func TestImportLacksAProtocol(t *testing.T) {
	t.Parallel()
	s := start(t)
	bucket := s.newImported("archive", "photos")
	s.provision(bucket, cosiapi.ProtocolGCS)
	claim := s.importing("photos", "archive", cosiapi.ProtocolS3, cosiapi.ProtocolGCS)
	s.Create(claim)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.ProtocolUnsupported)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ProtocolUnsupported)
	s.provision(bucket, cosiapi.ProtocolS3, cosiapi.ProtocolGCS)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// A claim that was never bound changes nothing.
func TestImportGivenUpBeforeItBound(t *testing.T) {
	t.Parallel()
	s := start(t)
	bucket := s.newImported("archive", "films")
	claim := s.importing("photos", "archive")
	s.Create(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	s.Delete(claim)
	s.Gone(claim)
	testenv.Get(s.Env, bucket)
	if len(bucket.Annotations) != 0 || bucket.Spec.BucketClaimRef.UID != "" {
		t.Errorf("the Bucket was touched: %+v", bucket.ObjectMeta)
	}
	rightful := s.importing("films", "archive")
	s.Create(rightful)
	s.bound(rightful)
}

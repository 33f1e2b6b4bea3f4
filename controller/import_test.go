// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
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

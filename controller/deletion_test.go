// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// untilReleased waits until a Bucket has the mark of a deleted claim, and is being deleted or not.
func (s *system) untilReleased(bucket *cosiapi.Bucket, deleted bool) {
	s.t.Helper()
	testenv.Until(s.Env, bucket, "Bucket "+bucket.Name+" is released", func(b *cosiapi.Bucket) error {
		if !cosiapi.HasAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation) || b.DeletionTimestamp.IsZero() == deleted {
			return fmt.Errorf("annotations %v, deletionTimestamp %v", b.Annotations, b.DeletionTimestamp)
		}
		return nil
	})
}

// The writes are 4 for the claim, 3 for the access and its UID on the claim, 2 conditions about the claim in use, and 6
// for the deletion, minus the finalizer of the Bucket.
func TestWritesOfTheWholeLife(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.patience = 5 * time.Second // not brief: an access reports a wait that lasts longer, and the cache may be behind
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	s.Delete(claim)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	s.untilCondition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess)
	s.Delete(access)
	s.cleanedUp(access)
	s.Gone(access)
	s.Gone(claim)
	s.untilReleased(bucket, true)
	const want = 14
	s.Eventually("the audit log shows the writes", func(context.Context) error {
		if writes := s.writes(); len(writes) != want {
			return fmt.Errorf("want %d, got %d:\n%s", want, len(writes), strings.Join(writes, "\n"))
		}
		return nil
	})
}

// A foreign Bucket is not changed, and the claim remains until an administrator has intervened.
func TestClaimWithAForeignBucketIsHeld(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.dropFinalizer(bucket)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketMissing)
	foreign := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: bucket.Name}, Spec: *bucket.Spec.DeepCopy()}
	foreign.Spec.BucketClaimRef.UID = "somebody-else"
	foreign.Spec.BucketClaimRef.Name = "films"
	foreign.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain // otherwise it would be deleted, because its claim does not exist
	s.Create(foreign)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	s.Delete(claim)
	s.t.Cleanup(func() { s.dropFinalizer(claim) })
	s.untilCondition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.BindingInvalid)
	s.settled()
	testenv.Get(s.Env, claim)
	if claim.DeletionTimestamp.IsZero() || !cosiapi.HasProtection(claim) {
		t.Errorf("the claim is not held: %+v", claim.ObjectMeta)
	}
	s.Eventually("an Event reports it", func(ctx context.Context) error {
		got, err := s.reported(ctx)
		if err == nil && !slices.Contains(got, "BucketClaim/photos Warning FailedDeleteBucket") {
			return fmt.Errorf("Events: %q", got)
		}
		return err
	})
}

// Waits that end without user action are not reported: an access that waits for its sidecar, and a claim that waits
// for accesses that are being deleted.
func TestDeletionIsReportedOnlyIfAUserMustAct(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.patience = time.Nanosecond
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	s.Delete(access) // there is no sidecar
	s.settled()
	s.Delete(claim)
	s.settled()
	if got := testenv.Get(s.Env, claim).Status.Conditions; meta.FindStatusCondition(got, cosiapi.ConditionDeprovisionFailed) != nil {
		t.Errorf("conditions of the claim: %+v", got)
	}
	if got := testenv.Get(s.Env, access).Status.Conditions; meta.FindStatusCondition(got, cosiapi.ConditionDeprovisionFailed) != nil {
		t.Errorf("conditions of the access: %+v", got)
	}
	s.cleanedUp(access)
	s.Gone(access)
	s.Gone(claim)
	s.untilReleased(bucket, true)
}

// confirm confirms the release of a Bucket, as an administrator does.
func (s *system) confirm(bucket *cosiapi.Bucket) {
	s.t.Helper()
	testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ConfirmReleaseAnnotation, string(b.UID)) })
}

// untilHeld waits until a Bucket reports that its release is held, and fails the test if the Bucket is released.
func (s *system) untilHeld(bucket *cosiapi.Bucket) {
	s.t.Helper()
	s.untilCondition(bucket, cosiapi.ConditionReleaseHeld, metav1.ConditionTrue, conditions.BucketClaimMissing)
	s.settled()
	if testenv.Get(s.Env, bucket); cosiapi.Released(bucket) || !bucket.DeletionTimestamp.IsZero() {
		s.t.Errorf("the Bucket is released: %+v", bucket.ObjectMeta)
	}
}

func TestBucketOfAVanishedClaimIsNotForTheNext(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	claim, old := s.provisioned("photos", "fast")
	stop()
	s.dropFinalizer(claim)
	s.Gone(claim)
	again := s.newClaim("photos", "fast")
	s.run()
	fresh := s.bound(again)
	s.untilHeld(old)
	s.confirm(old)
	s.untilReleased(old, true)
	if testenv.Get(s.Env, fresh); fresh.Name == old.Name || cosiapi.HasAnnotation(fresh, cosiapi.BucketClaimBeingDeletedAnnotation) {
		t.Errorf("the new claim has Bucket %s with %v", fresh.Name, fresh.Annotations)
	}
}

// The Bucket is released together with that access.
func TestBucketOfAVanishedClaimIsKeptWhileInUse(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	stop()
	s.dropFinalizer(claim)
	s.Gone(claim)
	s.confirm(bucket)
	s.run()
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimMissing)
	s.settled()
	testenv.Get(s.Env, bucket)
	if cosiapi.HasAnnotation(bucket, cosiapi.BucketClaimBeingDeletedAnnotation) {
		t.Error("the Bucket was released under an access that uses it")
	}
	s.Delete(access)
	s.cleanedUp(access)
	s.Gone(access)
	s.untilReleased(bucket, true)
}

// The Controller stopped after it had marked the Bucket and before it deleted the Bucket.
func TestReleaseThatWasCutShortIsCompleted(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	claim, bucket := s.provisioned("photos", "fast")
	stop()
	s.dropFinalizer(claim)
	s.Gone(claim)
	testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) {
		cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, cosiapi.ReleaseMark(b))
	})
	s.run()
	s.untilReleased(bucket, true)
}

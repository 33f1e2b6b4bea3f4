// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// A sidecar of an earlier version sets Provisioned and leaves Ready as the CRD created it. The Controller completes
// each object with one write.
func TestReadyBesideAnEarlierSidecar(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.untilReady(bucket, metav1.ConditionUnknown, conditions.Initial)
	s.untilReady(claim, metav1.ConditionUnknown, conditions.WaitingForBucket)
	earlier := func(list *[]metav1.Condition) {
		meta.SetStatusCondition(list, metav1.Condition{
			Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: string(conditions.Provisioned), ObservedGeneration: 1,
		})
	}
	testenv.ChangeStatus(s.Env, bucket, func(b *cosiapi.Bucket) {
		b.Status.BucketID, b.Status.Protocols = b.Name, []cosiapi.Protocol{cosiapi.ProtocolS3}
		earlier(&b.Status.Conditions)
	})
	s.untilReady(bucket, metav1.ConditionTrue, conditions.Provisioned)
	s.untilReady(claim, metav1.ConditionTrue, conditions.Provisioned)
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.untilReady(access, metav1.ConditionUnknown, conditions.ControllerValidated)
	testenv.ChangeStatus(s.Env, access, func(a *cosiapi.BucketAccess) {
		a.Status.AccountID, a.Status.Cleanup = a.Name, cosiapi.CleanupPending
		earlier(&a.Status.Conditions)
	})
	s.untilReady(access, metav1.ConditionTrue, conditions.Provisioned)
	s.settled()
	for object, want := range map[string]int{"buckets/status " + bucket.Name: 1, "bucketaccesses/status app": 2, "bucketclaims/status photos": 2} {
		if writes := s.writesOf(object); len(writes) != want {
			t.Errorf("want %d writes of %s, got %q", want, object, s.writes())
		}
	}
}

// An object that an earlier version provisioned has no Ready, and the CRD's default applies only to a missing list.
func TestReadyOfAnExistingObject(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	claim, bucket := s.provisioned("photos", "fast")
	waiting := s.newClaim("later", "missing")
	s.untilReady(waiting, metav1.ConditionUnknown, conditions.WaitingForClass)
	stop()
	for _, obj := range []client.Object{claim, bucket, waiting} {
		testenv.ChangeStatus(s.Env, obj, func(o client.Object) {
			meta.RemoveStatusCondition(conditions.Of(o), cosiapi.ConditionReady)
		})
	}
	before := len(s.writes())
	s.run()
	s.untilReady(claim, metav1.ConditionTrue, conditions.Provisioned)
	s.untilReady(bucket, metav1.ConditionTrue, conditions.Provisioned)
	s.untilReady(waiting, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.settled()
	if writes := s.writes()[before:]; len(writes) != 3 {
		t.Errorf("want one write for each object, got %q", writes)
	}
}

// Another component that sets its own Ready after each correction must not cause endless writes, and must not delay
// the corrections of other objects.
func TestForeignReady(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	_, bucket := s.provisioned("photos", "fast")
	_, other := s.provisioned("films", "fast")
	foreign := func() {
		testenv.ChangeStatus(s.Env, bucket, func(b *cosiapi.Bucket) {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: cosiapi.ConditionReady, Status: metav1.ConditionTrue, Reason: "Foreign"})
		})
	}
	s.untilReady(bucket, metav1.ConditionTrue, conditions.Provisioned)
	corrections := func() int { s.settled(); return len(s.writesOf("buckets/status " + bucket.Name)) }
	for corrections() < 5 { // the test's sidecar may have caused one
		foreign()
		s.untilReady(bucket, metav1.ConditionTrue, conditions.Provisioned)
	}
	foreign()
	testenv.ChangeStatus(s.Env, other, func(b *cosiapi.Bucket) { meta.RemoveStatusCondition(&b.Status.Conditions, cosiapi.ConditionReady) })
	s.untilReady(other, metav1.ConditionTrue, conditions.Provisioned)
	if got := testenv.Condition(testenv.Get(s.Env, bucket), cosiapi.ConditionReady); got.Reason != "Foreign" {
		t.Errorf("want no further correction, got %+v after %q", got, s.writesOf("buckets/status "+bucket.Name))
	}
}

func TestStalled(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.provision(bucket, cosiapi.ProtocolGCS)
	s.untilReady(claim, metav1.ConditionFalse, conditions.ProtocolUnsupported)
	if got := testenv.Condition(claim, cosiapi.ConditionStalled); got.Status != metav1.ConditionTrue || !strings.Contains(got.Message, "supports GCS, but not S3") {
		t.Errorf("the condition Stalled of a refused claim: %+v", got)
	}
	s.provision(bucket)
	s.untilReady(claim, metav1.ConditionTrue, conditions.Provisioned)
	if meta.FindStatusCondition(claim.Status.Conditions, cosiapi.ConditionStalled) != nil {
		t.Errorf("a claim that can be used is stalled: %+v", claim.Status.Conditions)
	}
}

// untilReady waits until the condition Ready has a status and reason.
func (s *system) untilReady(obj client.Object, status metav1.ConditionStatus, reason conditions.Reason) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("Ready of %s is %s", obj.GetName(), status), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if got := testenv.Condition(obj, cosiapi.ConditionReady); got.Status != status || got.Reason != string(reason) {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}

// writesOf returns the Controller's writes of one object.
func (s *system) writesOf(object string) []string {
	s.t.Helper()
	return slices.DeleteFunc(s.writes(), func(w string) bool { return !strings.HasSuffix(w, " "+object) })
}

// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// Case 17: name, reference and contents of the Bucket; the four writes of B23.
func TestClaim_gets_a_Bucket_in_four_writes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	want := cosiapi.BucketSpec{
		DriverName: s.namespace, DeletionPolicy: cosiapi.DeletionPolicyDelete,
		Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}, Parameters: map[string]string{"tier": "hot"},
		BucketClaimRef: cosiapi.BucketClaimReference{Namespace: s.namespace, Name: "photos", UID: claim.UID},
	}
	if diff := cmp.Diff(want, bucket.Spec); diff != "" {
		t.Errorf("Bucket (-want +got):\n%s", diff)
	}
	if bucket.Name != "bc-"+string(claim.UID) || len(bucket.Finalizers) != 0 || len(bucket.Annotations) != 0 {
		t.Errorf("want name bc-%s and no finalizer, got %s with %v", claim.UID, bucket.Name, bucket.Finalizers)
	}
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucket)
	s.protectBucket(bucket)
	s.provision(bucket)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
	s.untilCondition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
	if diff := cmp.Diff([]cosiapi.Protocol{cosiapi.ProtocolS3}, claim.Status.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	s.untilWrites(
		"update bucketclaims photos",
		"create buckets "+bucket.Name,
		"update bucketclaims/status photos",
		"update bucketclaims/status photos",
	)
	if got := s.conflicts(); got != 0 {
		t.Errorf("conflicts on the straight path: %d", got)
	}
}

// untilWrites waits until the Controller has written exactly this.
func (s *system) untilWrites(want ...string) {
	s.t.Helper()
	s.Eventually("the audit log shows the writes", func(context.Context) error {
		if diff := cmp.Diff(want, s.writes()); diff != "" {
			return fmt.Errorf("writes (-want +got):\n%s", diff)
		}
		return nil
	})
}

// Case 17, second part: with no sidecar around, nothing is left.
func TestClaim_deleted_before_any_sidecar_saw_its_Bucket(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.Delete(claim)
	s.Gone(claim)
	s.Gone(bucket)
}

// KEP: ResourcesValidated is Unknown while the class is missing. Nothing but
// its creation wakes the claim.
func TestClaim_waits_for_its_class(t *testing.T) {
	t.Parallel()
	s := start(t)
	claim := s.newClaim("photos", "late")
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.newClass("late")
	s.bound(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// Case 18: a Bucket that is lost is not created again.
func TestClaim_whose_Bucket_is_lost(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.provision(bucket)
	s.untilProvisioned(claim)
	s.Delete(bucket)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketMissing)
	if got := testenv.Condition(claim, cosiapi.ConditionProvisioned); got.Status != metav1.ConditionTrue {
		t.Errorf("Provisioned may not be taken back: %+v", got)
	}
	s.settled()
	if got := strings.Count(strings.Join(s.writes(), "\n"), "create buckets"); got != 1 {
		t.Errorf("Buckets created: want 1, got %d", got)
	}
	s.Delete(claim) // case 31: a missing Bucket does not hold the claim
	s.Gone(claim)
}

// lateBuckets is a client whose cache has not got any Bucket yet.
type lateBuckets struct{ client.Client }

func (c lateBuckets) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*cosiapi.Bucket); ok {
		key.Name = "no-such-bucket"
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// Case 19: a cache that lags does not lead to the verdict of case 18.
func TestClaim_in_a_cache_without_its_Bucket(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.wrapClient = func(c client.Client) client.Client { return lateBuckets{c} }
	s.run()
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	s.provision(bucket)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// Case 20: a Bucket of the right name is adopted only if it is this claim's.
func TestClaim_finds_a_Bucket_of_its_name(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		uid    string // of the claim in the Bucket, if another one
		status metav1.ConditionStatus
		reason conditions.Reason
	}{
		"its own, from a reconcile that was cut short": {"", metav1.ConditionTrue, conditions.ControllerValidated},
		"of another claim": {"another", metav1.ConditionFalse, conditions.BindingInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			s.newClass("fast")
			claim := s.newClaim("photos", "fast")
			ref := cosiapi.BucketClaimReference{Namespace: s.namespace, Name: "photos", UID: claim.UID}
			if tc.uid != "" {
				ref = cosiapi.BucketClaimReference{Namespace: s.namespace, Name: "films", UID: "another"}
			}
			bucket := &cosiapi.Bucket{
				ObjectMeta: metav1.ObjectMeta{Name: cosiapi.BucketNameFor(claim.UID)},
				Spec:       cosiapi.BucketSpec{DriverName: s.namespace, DeletionPolicy: cosiapi.DeletionPolicyRetain, BucketClaimRef: ref},
			}
			s.Create(bucket)
			s.run()
			s.untilCondition(claim, cosiapi.ConditionResourcesValidated, tc.status, tc.reason)
			if adopted := claim.Status.BoundBucketName != ""; adopted != (tc.uid == "") {
				t.Errorf("bound to %q", claim.Status.BoundBucketName)
			}
			s.Delete(claim)
			s.Gone(claim)
		})
	}
}

// Case 21: the class is copied once.
func TestClaim_outlives_its_class(t *testing.T) {
	t.Parallel()
	s := start(t)
	class := s.newClass("fast")
	claim, bucket := s.provisioned("photos", "fast")
	s.Delete(class)
	s.Gone(class)
	s.newClass("fast", func(c *cosiapi.BucketClass) { c.Spec.Parameters = map[string]string{"tier": "cold"} })
	s.settled()
	if got := get(s, bucket).Spec.Parameters["tier"]; got != "hot" {
		t.Errorf("parameters of the Bucket changed to %q", got)
	}
	s.Delete(claim)
	s.Gone(claim)
}

// Case 56: True and False are copied, Unknown never; nothing is written when
// nothing changed.
func TestClaim_mirrors_its_Bucket(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	set := func(conditionType string, status metav1.ConditionStatus, reason conditions.Reason) {
		changeStatus(s, bucket, func(b *cosiapi.Bucket) {
			setCondition(&b.Status.Conditions, conditionType, status, reason, "message of "+string(reason))
		})
	}
	set(cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	s.untilCondition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	set(cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	set(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	s.settled()
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	s.provision(bucket)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
	version := claim.ResourceVersion
	set(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	for range 3 {
		change(s, bucket, func(b *cosiapi.Bucket) {
			if b.Labels == nil {
				b.Labels = map[string]string{}
			}
			b.Labels["touched"] += "x"
		})
	}
	s.settled()
	if got := get(s, claim); got.ResourceVersion != version {
		t.Errorf("the claim was written though nothing changed: %+v", got)
	}
	set(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.StatusDegraded)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketInvalid)
	s.provision(bucket)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// A Controller that starts anew finds everything in order.
func TestClaim_costs_a_restarted_Controller_nothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stop := s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, _ := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	s.settled()
	stop()
	before := len(s.writes())
	s.run()
	fence := s.newClaim("fence", "no-such-class")
	s.untilCondition(fence, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.Eventually("the fence is in the audit log", func(context.Context) error {
		if !slices.Contains(s.writes(), "update bucketclaims/status fence") {
			return errors.New("it is not")
		}
		return nil
	})
	for _, w := range s.writes()[before:] {
		if !strings.HasSuffix(w, " fence") {
			t.Errorf("a write though nothing changed: %s", w)
		}
	}
	get(s, claim)
}

// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
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

// The writes are: finalizer, Bucket, binding, and the state of the Bucket.
func TestClaimGetsABucketInFourWrites(t *testing.T) {
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
	if bucket.Name != "bc-"+string(claim.UID) || !cosiapi.HasProtection(bucket) || len(bucket.Annotations) != 1 || bucket.Annotations[cosiapi.CreatedAnnotation] == "" {
		t.Errorf("want name bc-%s, the finalizer and one annotation, got %+v", claim.UID, bucket.ObjectMeta)
	}
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucket)
	s.provision(bucket)
	s.untilProvisioned(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
	s.untilCondition(claim, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
	if diff := cmp.Diff([]cosiapi.Protocol{cosiapi.ProtocolS3}, claim.Status.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	s.untilWrites(
		"patch bucketclaims photos",
		"create buckets "+bucket.Name,
		"patch bucketclaims/status photos",
		"patch bucketclaims/status photos",
	)
	if got := s.conflicts(); got != 0 {
		t.Errorf("conflicts on the straight path: %d", got)
	}
}

// untilWrites waits until the Controller has made exactly these writes.
func (s *system) untilWrites(want ...string) {
	s.t.Helper()
	s.UntilWrites(s.writes, 0, want...)
}

// KEP-1979: ResourcesValidated is Unknown while the class is missing. Only the creation of the class triggers the
// claim.
func TestClaimWaitsForItsClass(t *testing.T) {
	t.Parallel()
	s := start(t)
	claim := s.newClaim("photos", "late")
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.untilCondition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForClass)
	for _, conditionType := range []string{cosiapi.ConditionResourcesValidated, cosiapi.ConditionProvisioned} {
		if c := testenv.Condition(claim, conditionType); c.LastTransitionTime.Before(&claim.CreationTimestamp) {
			t.Errorf("%s is said to be %s since %s, which is before the claim", c.Type, c.Status, c.LastTransitionTime)
		}
	}
	s.newClass("late")
	s.bound(claim)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

// lateBuckets is a client with a cache that has no Bucket yet.
type lateBuckets struct{ client.Client }

func (c lateBuckets) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*cosiapi.Bucket); ok {
		key.Name = "no-such-bucket"
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// True and False are copied, Unknown never. Nothing is written if nothing has changed.
func TestClaimMirrorsItsBucket(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	claim := s.newClaim("photos", "fast")
	bucket := s.bound(claim)
	set := func(conditionType string, status metav1.ConditionStatus, reason conditions.Reason) {
		testenv.ChangeStatus(s.Env, bucket, func(b *cosiapi.Bucket) {
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
		testenv.Change(s.Env, bucket, func(b *cosiapi.Bucket) {
			if b.Labels == nil {
				b.Labels = map[string]string{}
			}
			b.Labels["touched"] += "x"
		})
	}
	s.settled()
	if got := testenv.Get(s.Env, claim); got.ResourceVersion != version {
		t.Errorf("the claim was written though nothing changed: %+v", got)
	}
	set(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.StatusDegraded)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketInvalid)
	s.provision(bucket)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.ControllerValidated)
}

func TestRestartedControllerWritesNothing(t *testing.T) {
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
		if !slices.Contains(s.writes(), "patch bucketclaims/status fence") {
			return errors.New("it is not")
		}
		return nil
	})
	for _, w := range s.writes()[before:] {
		if !strings.HasSuffix(w, " fence") {
			t.Errorf("a write though nothing changed: %s", w)
		}
	}
	testenv.Get(s.Env, claim)
}

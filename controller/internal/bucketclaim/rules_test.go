// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// newPair is a claim with UID u1 and a Bucket that is bound to it.
func newPair(imported bool) (*cosiapi.BucketClaim, *cosiapi.Bucket) {
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "photos", UID: "u1", Generation: 3}}
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "bc-u1"}}
	bucket.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "team", Name: "photos", UID: "u1"}
	claim.Spec.BucketClassName = "fast"
	if imported {
		bucket.Name = "archive"
		claim.Spec.BucketClassName, claim.Spec.ExistingBucketName = "", "archive"
	}
	return claim, bucket
}

func TestCheckBinding(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]struct {
		imported bool
		alter    func(*cosiapi.BucketClaim, *cosiapi.Bucket)
		want     conditions.Reason // empty: may bind
		wait     bool
	}{
		"a Bucket made for this claim": {alter: func(*cosiapi.BucketClaim, *cosiapi.Bucket) {}},
		"a Bucket of the right name for another claim": {
			alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Name = "films" },
			want:  conditions.BindingInvalid,
		},
		"a Bucket of the right name for no claim yet, which only an imported one may be": {
			alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "" },
			want:  conditions.BindingInvalid,
		},
		"an imported Bucket bound to this claim": {imported: true, alter: func(*cosiapi.BucketClaim, *cosiapi.Bucket) {}},
		"an imported Bucket bound to this claim that is being deleted": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.DeletionTimestamp = &now },
		},
		"an imported Bucket that waits for this claim": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "" },
		},
		"an imported Bucket for another name": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.Name, b.Spec.BucketClaimRef.UID = "films", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket for another namespace": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.Namespace, b.Spec.BucketClaimRef.UID = "rivals", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket bound to an earlier claim of this name": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "u0" },
			want: conditions.BindingInvalid,
		},
		"an imported Bucket put in the place of the one this claim was bound to": {
			imported: true, alter: func(c *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				c.Status.BoundBucketName, b.Spec.BucketClaimRef.UID = "archive", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket that goes before it was bound": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.UID, b.DeletionTimestamp = "", &now
			},
			want: conditions.WaitingForBucket, wait: true,
		},
		"an imported Bucket that was left behind": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.UID = ""
				b.Annotations = map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}
			},
			want: conditions.BindingInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, bucket := newPair(tc.imported)
			tc.alter(claim, bucket)
			got := checkBinding(claim, bucket)
			if got == nil {
				got = &conditions.Problem{}
			}
			if got.Reason != tc.want || tc.wait != (got.Policy == conditions.Waits) {
				t.Errorf("want reason %q, wait %v; got %+v", tc.want, tc.wait, got)
			}
		})
	}
}

// state is a condition without what does not matter here.
type state struct {
	status metav1.ConditionStatus
	reason conditions.Reason
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// The conditions of a claim in every state of the KEP's list.
func TestApplyBucket(t *testing.T) {
	t.Parallel()
	type states struct{ provisioned, validated, failed state }
	initial := states{state{unknown, conditions.Initial}, state{unknown, conditions.Initial}, state{unknown, conditions.Initial}}
	for name, tc := range map[string]struct {
		before  states // of the claim
		bucket  states
		offered []cosiapi.Protocol
		want    states
	}{
		"a Bucket that nobody has touched": {
			initial, initial, nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{unknown, conditions.Initial}},
		},
		"a Bucket that is provisioned": {
			initial,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolGCS},
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
		},
		"a Bucket that the driver refused": {
			initial,
			states{state{no, conditions.Terminal}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Terminal}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
		},
		"a Bucket that is tried again": {
			initial,
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"Unknown is not copied over True": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"Unknown is not copied over False": {
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"False of the Controller ends when its cause does": {
			states{state{no, conditions.BindingInvalid}, state{no, conditions.BindingInvalid}, state{unknown, conditions.Initial}},
			initial, nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{unknown, conditions.Initial}},
		},
		"True becomes False when the bucket is lost for good": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{no, conditions.Terminal}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Terminal}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
		},
		"a Bucket that is not valid": {
			initial,
			states{state{unknown, conditions.Initial}, state{no, conditions.DriverLacksProtocol}, state{unknown, conditions.Initial}},
			nil,
			states{state{unknown, conditions.WaitingForBucket}, state{no, conditions.BucketInvalid}, state{unknown, conditions.Initial}},
		},
		"a Bucket without a protocol of the claim": {
			initial,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolGCS},
			states{state{no, conditions.ProtocolUnsupported}, state{no, conditions.ProtocolUnsupported}, state{no, conditions.RPCSucceeded}},
		},
		"a Bucket that loses a protocol does not take Provisioned back": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolGCS},
			states{state{yes, conditions.Provisioned}, state{no, conditions.ProtocolUnsupported}, state{no, conditions.RPCSucceeded}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, bucket := newPair(false)
			claim.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolS3}
			bucket.Status.Protocols = tc.offered
			put := func(conds *[]metav1.Condition, s states) {
				for conditionType, c := range map[string]state{
					cosiapi.ConditionProvisioned: s.provisioned, cosiapi.ConditionResourcesValidated: s.validated, cosiapi.ConditionProvisionFailed: s.failed,
				} {
					conditions.Set(conds, conditions.Change{Type: conditionType, Status: c.status, Reason: c.reason, Message: "m", Generation: 3})
				}
			}
			put(&claim.Status.Conditions, tc.before)
			put(&bucket.Status.Conditions, tc.bucket)
			applyBucket(claim, bucket)
			of := func(conditionType string) state {
				c := conditionOf(claim.Status.Conditions, conditionType)
				if c.ObservedGeneration != 3 {
					t.Errorf("%s: observedGeneration %d", conditionType, c.ObservedGeneration)
				}
				return state{c.Status, conditions.Reason(c.Reason)}
			}
			got := states{of(cosiapi.ConditionProvisioned), of(cosiapi.ConditionResourcesValidated), of(cosiapi.ConditionProvisionFailed)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(states{}, state{})); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if tc.bucket.provisioned.status == yes {
				if diff := cmp.Diff(tc.offered, claim.Status.Protocols); diff != "" {
					t.Errorf("protocols (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	const key = cosiapi.BucketClaimBeingDeletedAnnotation
	now := metav1.Now()
	for name, tc := range map[string]struct {
		annotations map[string]string
		policy      cosiapi.DeletionPolicy
		deleted     *metav1.Time
		want        bool
	}{
		"not marked":                          {nil, cosiapi.DeletionPolicyDelete, nil, false},
		"not marked, deleted":                 {nil, cosiapi.DeletionPolicyDelete, &now, false},
		"marked and deleted":                  {map[string]string{key: "Delete"}, cosiapi.DeletionPolicyDelete, &now, true},
		"marked to be deleted, cut short":     {map[string]string{key: "Delete"}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked to be deleted, then retained": {map[string]string{key: "Delete"}, cosiapi.DeletionPolicyRetain, nil, true},
		"marked as retained":                  {map[string]string{key: "Retain"}, cosiapi.DeletionPolicyRetain, nil, true},
		"retained, policy changed afterwards": {map[string]string{key: "Retain"}, cosiapi.DeletionPolicyDelete, nil, true},
		"marked by another controller":        {map[string]string{key: ""}, cosiapi.DeletionPolicyDelete, nil, true},
		"marked in the other spelling":        {map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}, cosiapi.DeletionPolicyDelete, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations, DeletionTimestamp: tc.deleted}}
			bucket.Spec.DeletionPolicy = tc.policy
			if got := released(bucket); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

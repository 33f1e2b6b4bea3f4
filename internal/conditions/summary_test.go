// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	const provisioned, validated, failed, held = cosiapi.ConditionProvisioned, cosiapi.ConditionResourcesValidated, cosiapi.ConditionProvisionFailed, cosiapi.ConditionReleaseHeld
	condition := func(conditionType string, status metav1.ConditionStatus, reason conditions.Reason) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: string(reason), Message: "Because of " + conditionType + ".", ObservedGeneration: 3}
	}
	for name, tc := range map[string]struct {
		list    []metav1.Condition
		ready   metav1.ConditionStatus
		reason  conditions.Reason
		stalled bool
	}{
		"a new object": {[]metav1.Condition{condition(provisioned, unknown, conditions.Initial)}, unknown, conditions.Initial, false},
		"an object without a class waits, because the class may be created later": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.WaitingForClass), condition(validated, unknown, conditions.WaitingForClass)},
			unknown, conditions.WaitingForClass, false,
		},
		"a temporary failure says so": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.Retrying), condition(failed, yes, conditions.Retrying)}, no, conditions.Retrying, false,
		},
		"a refusal stalls": {
			[]metav1.Condition{condition(provisioned, no, conditions.Terminal), condition(validated, yes, conditions.SidecarValidated), condition(failed, yes, conditions.Terminal)},
			no, conditions.Terminal, true,
		},
		"an invalid object stalls": {
			[]metav1.Condition{condition(provisioned, no, conditions.SpecInvalid), condition(validated, no, conditions.SpecInvalid)}, no, conditions.SpecInvalid, true,
		},
		"a Secret that is in the way may be deleted": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.SecretTaken), condition(validated, no, conditions.SecretTaken)}, no, conditions.SecretTaken, false,
		},
		"an object that waits after a refusal does not repeat the refusal": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.BucketNotUsable), condition(validated, unknown, conditions.BucketNotUsable), condition(failed, yes, conditions.Terminal)},
			unknown, conditions.BucketNotUsable, false,
		},
		"a claim shows the temporary failure of its Bucket": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.WaitingForBucket), condition(validated, yes, conditions.ControllerValidated), condition(failed, yes, conditions.Retrying)},
			no, conditions.Retrying, false,
		},
		"a Bucket that a restore has not created yet": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(validated, no, conditions.BucketMissing)}, no, conditions.BucketMissing, false,
		},
		"a provisioned object": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(validated, yes, conditions.SidecarValidated)}, yes, conditions.Provisioned, false,
		},
		"a failed repetition does not make an object unusable": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(failed, yes, conditions.Terminal)}, yes, conditions.Provisioned, false,
		},
		"a provisioned object that is no longer valid": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(validated, no, conditions.SpecInvalid)}, no, conditions.SpecInvalid, true,
		},
		"a Bucket whose claim is lost": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(held, yes, conditions.BucketClaimMissing)}, no, conditions.BucketClaimMissing, false,
		},
		"a reason of a later version does not stall": {[]metav1.Condition{condition(provisioned, no, "Later")}, no, "Later", false},
		"an object of which nothing is known":        {[]metav1.Condition{condition("Other", yes, "Other")}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := slices.Clone(tc.list)
			if conditions.Summarized(list) != (tc.ready == "") {
				t.Error("the list is taken for summarized before it is")
			}
			conditions.Summarize(&list)
			if !conditions.Summarized(list) || !slices.Equal(tc.list, slices.DeleteFunc(slices.Clone(list), conditions.IsSummary)) {
				t.Errorf("the summary changed its input: %+v", list)
			}
			ready, stalled := meta.FindStatusCondition(list, cosiapi.ConditionReady), meta.FindStatusCondition(list, cosiapi.ConditionStalled)
			if tc.ready == "" {
				if ready != nil || stalled != nil {
					t.Errorf("want no summary, got %+v", list)
				}
				return
			}
			if ready.Status != tc.ready || ready.Reason != string(tc.reason) || ready.Message == "" || ready.ObservedGeneration != 3 {
				t.Errorf("want Ready=%s %s, got %+v", tc.ready, tc.reason, ready)
			}
			if (stalled != nil) != tc.stalled || tc.stalled && (stalled.Status != yes || stalled.Message != ready.Message) {
				t.Errorf("want stalled: %v, got %+v", tc.stalled, stalled)
			}
			conditions.Set(&list, conditions.Change{Type: provisioned, Status: yes, Reason: conditions.Provisioned})
			conditions.Set(&list, conditions.Change{Type: validated, Status: yes, Reason: conditions.SidecarValidated})
			meta.RemoveStatusCondition(&list, held)
			conditions.Summarize(&list)
			if !conditions.Is(list, cosiapi.ConditionReady, yes) || meta.FindStatusCondition(list, cosiapi.ConditionStalled) != nil {
				t.Errorf("after the problem was resolved: %+v", list)
			}
		})
	}
}

// Only a change by a user may help a stalled object. A GitOps tool or a restore creates and deletes claims, accesses
// and Buckets in any order.
func TestStalledReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range []conditions.Reason{
		conditions.Initial, conditions.WaitingForClass, conditions.WaitingForBucketClaim, conditions.WaitingForBucket, conditions.WaitingForBucketAccess,
		conditions.WaitingForProvisionedBucket, conditions.Retrying, conditions.SecretTaken, conditions.SecretNotWritable, conditions.IDShared,
		conditions.BucketClaimDeleting, conditions.BucketClaimMissing, conditions.BucketMissing, conditions.BucketInvalid,
		conditions.BucketNotUsable, conditions.ClaimStillBound,
		conditions.ControllerValidated, conditions.SidecarValidated, conditions.Provisioned, conditions.RPCSucceeded,
	} {
		if reason.Stalled() {
			t.Errorf("%s stalls", reason)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

func TestProblemReport(t *testing.T) {
	t.Parallel()
	degrade := conditions.Refuse(conditions.BucketNotUsable, "It is being deleted.")
	degrade.Policy = conditions.Degrades
	for name, tc := range map[string]struct {
		problem                *conditions.Problem
		was                    metav1.ConditionStatus // of Provisioned
		validated, provisioned metav1.ConditionStatus
	}{
		"a refusal is False":                             {conditions.Refuse(conditions.StatusDegraded, "No."), metav1.ConditionUnknown, metav1.ConditionFalse, metav1.ConditionFalse},
		"a wait is Unknown":                              {conditions.Wait(conditions.BucketNotUsable, "Soon."), metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionUnknown},
		"a block is invalid and may be provisioned":      {conditions.Block(conditions.SecretTaken, "Taken."), metav1.ConditionUnknown, metav1.ConditionFalse, metav1.ConditionUnknown},
		"a provisioned object remains provisioned":       {conditions.Refuse(conditions.StatusDegraded, "No."), metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionTrue},
		"a degraded object is invalid and keeps working": {degrade, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionTrue},
		"a temporary problem of another object":          {conditions.Wait(conditions.BucketNotUsable, "Soon."), metav1.ConditionTrue, metav1.ConditionUnknown, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []metav1.Condition
			conditions.Set(&list, conditions.Change{Type: cosiapi.ConditionProvisioned, Status: tc.was, Reason: conditions.Initial})
			if tc.problem.Known(list) {
				t.Error("the problem is known before it is reported")
			}
			tc.problem.Report(&list, 3)
			if !tc.problem.Known(list) {
				t.Errorf("the problem is reported and not known: %v", list)
			}
			for kind, want := range map[string]metav1.ConditionStatus{
				cosiapi.ConditionResourcesValidated: tc.validated, cosiapi.ConditionProvisioned: tc.provisioned,
			} {
				if !conditions.Is(list, kind, want) {
					t.Errorf("%s: want %s, got %v", kind, want, list)
				}
			}
		})
	}
}

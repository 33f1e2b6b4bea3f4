// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	condition := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
	}
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		want       string
	}{
		"not processed yet": {
			[]metav1.Condition{condition(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, cosiapi.ReasonPending, "Waiting for COSI.")},
			"Waiting for COSI.",
		},
		"a class is missing, told twice": {
			[]metav1.Condition{
				condition(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, "WaitingForClass", `Waiting for BucketClass "x"`),
				condition(cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, "WaitingForClass", `Waiting for BucketClass "x"`),
			},
			`Waiting for BucketClass "x"`,
		},
		"the driver fails": {
			[]metav1.Condition{
				condition(cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, "Valid", "fine"),
				condition(cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, "Retrying", "the store is down"),
			},
			"the store is down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := conditions.Explain(tc.conditions); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

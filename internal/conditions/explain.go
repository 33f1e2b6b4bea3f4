// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Explain returns, in one line, why an object with these conditions is not provisioned yet.
func Explain(list []metav1.Condition) string {
	var reasons []string
	for _, c := range list {
		if IsSummary(c) {
			continue
		}
		bad := metav1.ConditionFalse
		if c.Type == cosiapi.ConditionProvisionFailed {
			bad = metav1.ConditionTrue
		}
		waiting := c.Status == metav1.ConditionUnknown && c.Reason != cosiapi.ReasonPending
		if c.Message != "" && (c.Status == bad || waiting) && !slices.Contains(reasons, c.Message) {
			reasons = append(reasons, c.Message)
		}
	}
	if len(reasons) == 0 {
		return "Waiting for COSI."
	}
	return strings.Join(reasons, " ")
}

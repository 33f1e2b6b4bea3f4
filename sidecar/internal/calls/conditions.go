// SPDX-License-Identifier: Apache-2.0

package calls

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// ProvisionFailed sets the conditions after a failed call that makes or
// verifies what an object stands for. An object that is provisioned stays so.
func ProvisionFailed(list *[]metav1.Condition, f *driver.Failure, generation int64) {
	change := failed(cosiapi.ConditionProvisionFailed, f, generation)
	conditions.Set(list, change)
	if conditions.Is(*list, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return
	}
	change.Type, change.Status = cosiapi.ConditionProvisioned, metav1.ConditionUnknown
	if f.Terminal() {
		change.Status = metav1.ConditionFalse
	}
	conditions.Set(list, change)
}

// DeprovisionFailed sets the condition after a failed call that removes what an
// object stands for.
func DeprovisionFailed(list *[]metav1.Condition, f *driver.Failure, generation int64) {
	conditions.Set(list, failed(cosiapi.ConditionDeprovisionFailed, f, generation))
}

func failed(conditionType string, f *driver.Failure, generation int64) conditions.Change {
	return conditions.Change{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: reason(f), Message: f.Message(), Generation: generation,
	}
}

func reason(f *driver.Failure) conditions.Reason {
	switch {
	case f.InvalidResponse():
		return conditions.DriverResponseInvalid
	case f.UntilReconnect():
		return conditions.DriverIncompatible
	case f.Terminal():
		return conditions.Terminal
	default:
		return conditions.Retrying
	}
}

// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unserved says of an access that was handed over, and that no sidecar has said
// anything of for long, that there is no sidecar.
func (r *Reconciler) unserved(ctx context.Context, w *work) (step.Verdict, error) {
	waits := meta.FindStatusCondition(w.access.Status.Conditions, cosiapi.ConditionProvisioned)
	if waits == nil || waits.Status != metav1.ConditionUnknown || conditions.Reason(waits.Reason).Owner() != conditions.Controller || !r.Waits.KnowsSidecars() {
		return step.Done(), nil
	}
	waitsFor := waitsForGrant(w.access)
	if left := r.Waits.Provisioning(w.access, r.Now()); left > 0 {
		return step.WaitAtMost(left, waitsFor), nil
	}
	reason, message := conditions.ControllerValidated, waitsFor
	missing, again := r.Waits.MissingSidecar(ctx, w.access.Status.DriverName)
	if again > 0 {
		return step.WaitAtMost(again, waitsFor), nil
	}
	if missing != "" {
		reason, message = conditions.WaitingForSidecar, waitsFor+" "+missing
	}
	_, err := r.PatchStatus(ctx, w.access, func() { w.merge(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, reason, message) })
	return step.Wait(waitsFor), err
}

// waitsForGrant is said of an access that is handed over.
func waitsForGrant(access *cosiapi.BucketAccess) string {
	return fmt.Sprintf("Waiting for the sidecar of driver %q to grant this BucketAccess.", access.Status.DriverName)
}

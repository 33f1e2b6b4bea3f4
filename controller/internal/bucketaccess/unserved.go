// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/overdue"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// unserved says of an access that was handed over, and that no sidecar has said
// anything of for long, that there is no sidecar.
func (r *Reconciler) unserved(ctx context.Context, w *work) (step.Verdict, error) {
	waits := meta.FindStatusCondition(w.access.Status.Conditions, cosiapi.ConditionProvisioned)
	if waits == nil || waits.Status != metav1.ConditionUnknown || conditions.Reason(waits.Reason).Owner() != conditions.Controller || !r.Sidecars.Known() {
		return step.Done(), nil
	}
	waitsFor := "sidecar of driver " + w.access.Status.DriverName
	if left := overdue.Made(w.access, r.Patience, time.Now()); left > 0 {
		return step.WaitAtMost(left, waitsFor), nil
	}
	missing := r.Sidecars.Missing(ctx, w.access.Status.DriverName)
	switch {
	case missing != "":
		w.set(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForSidecar, waitsForGrant(w.access)+" "+missing)
	case waits.Reason == string(conditions.WaitingForSidecar):
		w.set(cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.ControllerValidated, waitsForGrant(w.access))
	}
	return step.Wait(waitsFor), r.saveStatus(ctx, w)
}

// waitsForGrant is said of an access that is handed over.
func waitsForGrant(access *cosiapi.BucketAccess) string {
	return fmt.Sprintf("Waiting for the sidecar of driver %q to grant the access.", access.Status.DriverName)
}

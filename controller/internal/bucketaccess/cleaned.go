// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/step"
)

// cleaned waits until the sidecar has deleted the Secrets and revoked the
// access. An access that was never handed over has no sidecar to wait for; if
// that is only what an old copy in the cache says, the resourceVersion stops
// the write that follows.
func (r *Reconciler) cleaned(ctx context.Context, w *work) (step.Verdict, error) {
	switch {
	case !cosiapi.HasProtection(w.access):
		return step.Done(), nil
	case w.access.Status.DriverName == "", w.access.CleanedUp():
		return step.Next(), nil
	}
	if left := r.Waits.Deletion(w.access, r.Now()); left > 0 {
		return step.WaitAtMost(left, string(conditions.WaitingForSidecar)), nil
	}
	driver := w.access.Status.DriverName
	advice, again := r.Waits.MissingSidecar(ctx, driver)
	if again > 0 {
		return step.WaitAtMost(again, string(conditions.WaitingForSidecar)), nil
	}
	if advice == "" {
		advice = "If this lasts, see whether such a driver is installed and running."
	}
	if cosiapi.HasAnnotation(w.access, cosiapi.SidecarCleanupFinishedAnnotation) {
		advice = "The annotation " + cosiapi.SidecarCleanupFinishedAnnotation + " is not enough while status.cleanup is Pending. " + advice
	}
	return r.overdue(ctx, w, conditions.WaitingForSidecar,
		fmt.Sprintf("Waiting for the sidecar of driver %q to delete the Secrets of this BucketAccess and to revoke it. %s", driver, advice))
}

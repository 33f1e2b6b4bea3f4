// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
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
	return step.Wait(fmt.Sprintf("the sidecar of driver %q", w.access.Status.DriverName)), nil
}

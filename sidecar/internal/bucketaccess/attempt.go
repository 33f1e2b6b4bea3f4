// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/turn"
)

// exclusively runs a call unless one about the same account, or about one of its
// buckets itself, is running; then the reconcile starts again when that one has
// ended.
func (r *Reconciler) exclusively(w *work, call func() error) (step.Verdict, error) {
	var needed inflight.Call
	for _, id := range bucketIDs(w.access) {
		needed.Using = append(needed.Using, inflight.BucketID(id))
	}
	if id := w.access.Status.AccountID; id != "" {
		needed.About = append(needed.About, inflight.AccountID(id))
	}
	return r.Take(&w.Turn, needed, "the same account or bucket", call)
}

// grantFailed is failed for the calls that make the access. An access that is
// provisioned stays so.
func (r *Reconciler) grantFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	return r.Failed(ctx, &w.Turn, err, func(f *driver.Failure) {
		a := w.access
		conditions.Merge(&a.Status.Conditions, w.verdict())
		turn.ProvisionFailed(&a.Status.Conditions, f, a.Generation)
	}, func(note string) { r.Events.Warn(w.access, events.FailedGrantAccess, "GrantAccess", note) })
}

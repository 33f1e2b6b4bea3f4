// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/step"
	"github.com/cooper-cosi/cooper/sidecar/internal/calls"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

// callFailed reports that a call failed, and waits until it may be repeated. An
// access that is provisioned stays so.
func (r *Reconciler) callFailed(ctx context.Context, w *work, err error) (step.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return step.Verdict{}, err
	}
	a, asked := w.access, w.State()
	reason, action := events.FailedGrantAccess, "GrantAccess"
	if a.DeletionTimestamp != nil {
		reason, action = events.FailedRevokeAccess, "RevokeAccess"
	}
	err = r.RecordStatus(ctx, a, sameOrder, func() {
		if a.DeletionTimestamp != nil {
			calls.DeprovisionFailed(&a.Status.Conditions, failure, a.Generation)
			return
		}
		conditions.Merge(&a.Status.Conditions, w.validated())
		calls.ProvisionFailed(&a.Status.Conditions, failure, a.Generation)
	})
	if err != nil {
		return step.Verdict{}, err
	}
	r.Events.Warn(a, reason, action, failure.Message())
	return r.Failed(&w.Turn, asked, failure), nil
}

// begin begins a call unless one about the same account, or about one of its
// buckets itself, is running.
func (r *Reconciler) begin(w *work) (end func(), wait step.Verdict) {
	var call inflight.Call
	for _, id := range bucketIDs(w.access) {
		call.Using = append(call.Using, inflight.BucketID(id))
	}
	if id := w.access.Status.AccountID; id != "" {
		call.About = append(call.About, inflight.AccountID(id))
	} else if askedFor(w.access) {
		call.About = append(call.About, inflight.AccountID(cosiapi.AccountNameFor(w.access.UID)))
	}
	return r.Begin(&w.Turn, call, "the same account or bucket")
}

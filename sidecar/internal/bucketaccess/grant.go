// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
)

// reread checks before a grant that the API server still has this version of the access. Phase 1 creates nothing, and its
// ID is stored only in the version that was read.
func (r *Reconciler) reread(ctx context.Context, w *work) (reconciler.Verdict, error) {
	if w.access.Status.AccountID == "" {
		return reconciler.Next(), nil
	}
	return r.Reread(ctx, &w.Request)
}

// generateAccountID is phase 1: it stores status.accountID and the need for a cleanup. The write is a conflict if the
// access has changed since it was read, for example because it is being deleted.
func (r *Reconciler) generateAccountID(ctx context.Context, w *work) (reconciler.Verdict, error) {
	a := w.access
	if a.Status.AccountID != "" {
		return reconciler.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	id, err := r.Driver.GenerateAccountID(ctx, idRequest(a))
	if err == nil {
		err = r.reserveAccountID(ctx, w, id)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	r.History.Succeeded(w.Req)
	r.Memory.setGranting(a, id)
	_, err = r.PatchStatus(ctx, a, func() { a.Status.AccountID, a.Status.Cleanup = id, cosiapi.CleanupPending })
	w.Fresh, w.order = true, orderOf(a, w.Info)
	return reconciler.Next(), err
}

// grant makes the phase 2 call. It is repeated whenever checkGrant finds that it is due. After it, the backend has the
// account with exactly the requested access.
func (r *Reconciler) grant(ctx context.Context, w *work) (reconciler.Verdict, error) {
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	r.Memory.setGranting(w.access, w.access.Status.AccountID)
	response, err := r.Driver.GrantAccess(ctx, w.order.request)
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	w.response = response
	if w.countsAgainstBudget() {
		r.Memory.spendBudget(w.Req, r.Now())
	}
	if w.regrant != "" {
		r.Regranted(w.regrant)
	}
	return reconciler.Next(), nil
}

// firstBucket returns the first Bucket of the access from the cache, or an empty Bucket if there is none.
func (r *Reconciler) firstBucket(ctx context.Context, a *cosiapi.BucketAccess) (*cosiapi.Bucket, error) {
	b := &cosiapi.Bucket{}
	if len(a.Status.AccessedBuckets) == 0 {
		return b, nil
	}
	name := a.Status.AccessedBuckets[0].BucketName
	if err := client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKey{Name: name}, b)); err != nil {
		return nil, fmt.Errorf("read Bucket %q from the cache: %w", name, err)
	}
	return b, nil
}

// reserveAccountID fails if the driver returned the ID of another account for a new access.
func (r *Reconciler) reserveAccountID(ctx context.Context, w *work, id string) error {
	err := r.checkUnused(ctx, w, id)
	if err == nil && id != "" && !r.History.ReserveID(w.Req, id) {
		return errAccountIDTaken
	}
	return err
}

// checkUnused fails if another access has the account ID.
func (r *Reconciler) checkUnused(ctx context.Context, w *work, id string) error {
	found, err := r.withAccount(ctx, id)
	for i := range found {
		if sameDriverOtherAccess(&found[i], w.access) {
			return errAccountIDTaken
		}
	}
	return err
}

// errAccountIDTaken does not name the other access, because the user of this one reads the message.
var errAccountIDTaken = driver.Broken(cosi.Provisioner_DriverGenerateBucketAccessId_FullMethodName,
	errors.New("account_id belongs to another BucketAccess. An administrator must check the driver"))

// begin starts a call unless another call for the same account, or for one of its buckets, is running.
func (r *Reconciler) begin(w *work) (end func(), wait reconciler.Verdict) {
	var call inflight.Call
	for _, id := range bucketIDs(w.access) {
		call.Using = append(call.Using, inflight.BucketID(id))
	}
	if id := w.access.Status.AccountID; id != "" {
		call.About = append(call.About, inflight.AccountID(id))
	}
	return r.Begin(&w.Attempt, call, "the same account or bucket")
}

// callFailed records a failed call and waits until it may be repeated. A provisioned access stays provisioned.
func (r *Reconciler) callFailed(ctx context.Context, w *work, err error) (reconciler.Verdict, error) {
	failure, ok := driver.AsFailure(err)
	if !ok {
		return reconciler.Verdict{}, err
	}
	a, asked := w.access, w.State()
	reason, action := reconciler.FailedGrantAccess, "GrantAccess"
	if a.DeletionTimestamp != nil {
		reason, action = reconciler.FailedRevokeAccess, "RevokeAccess"
	}
	if !w.Gone {
		err := r.RecordStatus(ctx, a, sameOrder, func() {
			if a.DeletionTimestamp != nil {
				scheduling.DeprovisionFailed(&a.Status.Conditions, failure, a.Generation)
				return
			}
			conditions.Merge(&a.Status.Conditions, w.validated())
			scheduling.ProvisionFailed(&a.Status.Conditions, failure, a.Generation)
		})
		if err != nil {
			return reconciler.Verdict{}, err
		}
	}
	r.Events.Warn(a, reason, action, failure.Message())
	return r.Failed(&w.Attempt, asked, failure), nil
}

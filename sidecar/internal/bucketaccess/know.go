// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// know establishes that the ID of an account that is to be revoked is known. A driver with
// one phase may have made the account without anybody hearing of it.
func (r *Reconciler) know(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	if !askedFor(a) {
		return step.Next(), nil
	}
	end, wait := r.begin(w)
	if end == nil {
		return wait, nil
	}
	defer end()
	id, err := r.account(ctx, w)
	if err == nil {
		err = r.learn(ctx, w, id)
	}
	if err != nil {
		return r.callFailed(ctx, w, err)
	}
	return step.Next(), nil
}

// account returns the ID of an account that was perhaps granted; empty if none was. The
// same grant, by the same name, tells it, and makes an account, which is revoked next, only
// if none was made. A driver that refuses that grant has nothing of the name. What may have
// changed since the first grant is no part of it.
func (r *Reconciler) account(ctx context.Context, w *work) (string, error) {
	if err := otherPhases(w.access, w.Info); err != nil {
		return "", err
	}
	w.asked = idRequest(w.access)
	w.asked.Rotation, w.asked.DisallowedAccessModes = "", nil
	w.order = orderOf(w.asked, "", w.Info)
	id, _, err := r.askFor(ctx, w)
	if id != "" || driver.MeansNothing(err) {
		return id, nil
	}
	return "", err
}

// askFor makes the grant. A driver with one phase need not say how its bucket is reached:
// its Bucket does.
func (r *Reconciler) askFor(ctx context.Context, w *work) (string, *cosi.DriverGrantBucketAccessResponse, error) {
	b := &cosiapi.Bucket{}
	if w.Info.OnePhase {
		for _, first := range w.access.Status.AccessedBuckets[:min(1, len(w.access.Status.AccessedBuckets))] {
			if err := client.IgnoreNotFound(r.Client.Get(ctx, client.ObjectKey{Name: first.BucketName}, b)); err != nil {
				return "", nil, fmt.Errorf("read Bucket %q from the cache: %w", first.BucketName, err)
			}
		}
	}
	return r.Driver.GrantAccess(ctx, w.order.request, secretkeys.Known(b.Status.BucketInfo))
}

// learn establishes that status.accountID is the ID that phase 2 told, if it did. Another
// account than before is revoked at once, since nothing has room for it, unless it is that
// of another access.
func (r *Reconciler) learn(ctx context.Context, w *work, id string) error {
	a := w.access
	switch known := a.Status.AccountID; {
	case id == "" || id == known:
		return nil
	case known != "":
		if err := r.untaken(ctx, w, id); err != nil {
			return err
		}
		request := revokeRequest(a)
		request.AccountId = id
		if err := r.Driver.RevokeAccess(ctx, request); err != nil {
			return err
		}
		return driver.Broken(cosi.Provisioner_DriverGrantBucketAccess_FullMethodName, fmt.Errorf(
			"account_id is %q, and was %q for the same name before. The new account is revoked. Delete this BucketAccess and create it again", id, known))
	}
	if err := r.unique(ctx, w, id); err != nil {
		return err
	}
	r.Departed.Granting(a, id)
	if err := r.RecordStatus(ctx, a, sameOrder, func() { a.Status.AccountID = id }); err != nil {
		return err
	}
	w.order = orderOf(w.asked, id, w.Info)
	return nil
}

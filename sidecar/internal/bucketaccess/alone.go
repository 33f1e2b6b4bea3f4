// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/objects"
	"github.com/cooper-cosi/cooper/internal/step"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// ByAccount is the index of the accesses in the cache by status.accountID.
const ByAccount = "accountID"

// alone establishes that nobody else uses the account that is about to be
// revoked. The cache is enough: no ID is given to a second access (unique), and
// an account that was revoked can be granted again.
func (r *Reconciler) alone(ctx context.Context, w *work) (step.Verdict, error) {
	a := w.access
	found, err := r.withAccount(ctx, a.Status.AccountID)
	if err != nil {
		return step.Verdict{}, err
	}
	for i := range found {
		if keeps(&found[i], a) {
			return r.waitFor(ctx, w, &found[i])
		}
	}
	return step.Next(), nil
}

// waitFor reports that another access keeps the account, without its name: it may
// be of another namespace.
func (r *Reconciler) waitFor(ctx context.Context, w *work, keeper *cosiapi.BucketAccess) (step.Verdict, error) {
	a, held := w.access, shared(w.access)
	isNew, err := r.PatchStatus(ctx, a, func() { conditions.Set(&a.Status.Conditions, held) })
	if err != nil {
		return step.Verdict{}, err
	}
	if isNew {
		r.Events.Warn(a, events.FailedRevokeAccess, "RevokeAccess", held.Message)
	}
	return step.Wait("the deletion of " + conditions.Names("BucketAccess", keeper.Namespace+"/"+keeper.Name)), nil
}

// unique returns the failure of a driver that returned, for a new access, the ID
// of another account.
func (r *Reconciler) unique(ctx context.Context, w *work, id string) error {
	if err := r.untaken(ctx, w, id); err != nil || id == "" {
		return err
	}
	if !r.Given.Give(w.Req, id) {
		return errTaken
	}
	return nil
}

// untaken returns the failure of a driver that returned the ID of another access's account.
func (r *Reconciler) untaken(ctx context.Context, w *work, id string) error {
	found, err := r.withAccount(ctx, id)
	if err != nil {
		return err
	}
	for i := range found {
		if isAnother(&found[i], w.access) {
			return errTaken
		}
	}
	return nil
}

// errTaken does not say whose the ID is: the user reads it.
var errTaken = driver.Broken(cosi.Provisioner_DriverGenerateBucketAccessId_FullMethodName,
	errors.New("account_id is that of another BucketAccess. An administrator must look into the driver"))

// withAccount returns the accesses in the cache that have an account ID.
func (r *Reconciler) withAccount(ctx context.Context, id string) ([]cosiapi.BucketAccess, error) {
	if id == "" {
		return nil, nil
	}
	list := &cosiapi.BucketAccessList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{ByAccount: id}, objects.ReadOnly); err != nil {
		return nil, fmt.Errorf("look up BucketAccesses with account ID %q in the cache: %w", id, err)
	}
	return list.Items, nil
}

// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"context"
	"errors"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
)

// Grant gives a Kubernetes service account exactly the requested access. Several accesses can be for the same service
// account. Each has its own bindings, so revoking one does not affect the others.
//
// The grant is first recorded in the credential store, because the buckets of a later request may differ. The record
// contains no secret. If the store is lost, most of the information can be recovered from the bindings.
func (a *Principals) Grant(ctx context.Context, request account.Request) error {
	if err := a.note(ctx, request); err != nil {
		return err
	}
	return a.Edit(ctx, request.Buckets, false, func(current *storage.Policy, bucket account.Bucket) (bool, error) {
		claim := a.claim(request, bucket.Name)
		if described := claim.Described(current); described != "" && described != claim.Description {
			return false, account.Differs(request.ID)
		}
		return claim.Bind(current, request.Principal, bucket.Roles), nil
	})
}

func (a *Principals) note(ctx context.Context, request account.Request) error {
	entry, err := a.Store.Get(ctx, request.ID)
	switch {
	case err == nil && entry.Notes[noteParams] != request.Hash:
		return account.Differs(request.ID)
	case err == nil:
		return nil
	case !errors.Is(err, credentials.ErrNotFound):
		return credentials.StoreError(request.ID, err)
	}
	_, err = a.Store.Put(ctx, credentials.Entry{
		Account: request.ID,
		Notes:   map[string]string{noteParams: request.Hash, notePrincipal: request.Principal},
	})
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	return nil
}

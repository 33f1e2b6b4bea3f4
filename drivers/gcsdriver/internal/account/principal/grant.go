// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"context"
	"errors"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Grant gives a Kubernetes service account exactly the requested access. Several accesses
// can be for the same one: each has bindings of its own, so that revoking one leaves the others.
//
// What was granted is noted in the credential store first, since the buckets of another request
// would not tell. There is no secret in it: if the store is lost, the bindings still tell most.
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
	case !errors.Is(err, credstore.ErrNotFound):
		return credentials.StoreError(request.ID, err)
	}
	_, err = a.Store.Put(ctx, credstore.Entry{
		Account: request.ID,
		Notes:   map[string]string{noteParams: request.Hash, notePrincipal: request.Principal},
	})
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	return nil
}

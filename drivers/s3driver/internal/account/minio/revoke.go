// SPDX-License-Identifier: Apache-2.0

package minio

import (
	"context"
	"net/http"
	"net/url"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke removes the account's users, then its policy, and finally the stored key.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	if _, err := u.checkOwner(ctx, request.Name, storeID, driverkit.FailedPrecondition); err != nil {
		return err
	}
	return credentials.RevokeSupplied(ctx, u.Store, request.ID, keysOf{u, request.Name}, func(ctx context.Context) error {
		_, err := u.call(ctx, http.MethodDelete, "remove-canned-policy", url.Values{"name": {request.Name}}, nil)
		if apierror.Is(err, codeNoPolicy) {
			return nil
		}
		return err
	})
}

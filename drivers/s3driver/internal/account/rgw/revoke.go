// SPDX-License-Identifier: Apache-2.0

package rgw

import (
	"context"
	"net/http"
	"net/url"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke deletes the account's user, and with it its policy and its keys, including manually created ones.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	own, err := u.self(ctx)
	if err != nil {
		return err
	}
	id := own.inTenant(request.Name)
	found, exists, err := u.readUser(ctx, "uid", id)
	if err != nil || !exists {
		return err
	}
	if err := u.checkOwner(id, found, driverkit.FailedPrecondition); err != nil {
		return err
	}
	_, err = u.call(ctx, http.MethodDelete, "DeleteUser", url.Values{"uid": {id}})
	if apierror.Is(err, "NoSuchUser") {
		return nil
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package versitygw

import (
	"context"
	"net/url"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// keysOf manages the users of one account.
type keysOf struct {
	users   *Users
	request account.Request
	// present lists the users that the gateway already had, with the secrets that they were created with.
	present []string
}

// Make implements credentials.SuppliedKeys.
func (k keysOf) Make() credentials.Credential { return account.NewKey(k.request.Name) }

// Ensure implements credentials.SuppliedKeys.
func (k keysOf) Ensure(ctx context.Context, key credentials.Credential) error {
	if slices.Contains(k.present, key.ID) {
		return nil
	}
	err := k.users.call(ctx, "create-user", nil, xmlAccount{Access: key.ID, Secret: key.Secret.Reveal(), Role: roleUser})
	if !apierror.Is(err, codeUserExists) {
		return err
	}
	return k.users.call(ctx, "update-user", url.Values{"access": {key.ID}}, xmlProperties{Secret: key.Secret.Reveal()})
}

// Remove implements credentials.SuppliedKeys. The gateway rejects policies that name a user that does not exist, so
// the user is removed from the policies first.
func (k keysOf) Remove(ctx context.Context, id string) error {
	for _, bucket := range k.request.Buckets {
		if err := k.users.Policies.Drop(ctx, bucket.Name, func(user string) bool { return user == id }); err != nil {
			return err
		}
	}
	err := k.users.call(ctx, "delete-user", url.Values{"access": {id}}, nil)
	if apierror.Is(err, codeUserNotFound) {
		return nil
	}
	return err
}

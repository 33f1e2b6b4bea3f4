// SPDX-License-Identifier: Apache-2.0

package versitygw

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
)

// Grant ensures that the account's user and its statements exist, and returns the user's key.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	present, err := u.checkStore(ctx, request)
	if err != nil {
		return credentials.Credential{}, err
	}
	credential, err := credentials.GrantSupplied(ctx, u.Store, request.Supplied(), keysOf{u, request, present})
	if err != nil {
		return credentials.Credential{}, err
	}
	principals, err := credentials.StoredIDs(ctx, u.Store, request.ID)
	if err != nil {
		return credentials.Credential{}, err
	}
	for _, bucket := range request.Buckets {
		if err := u.Policies.Set(ctx, bucket, principals, isUserOf(request.Name)); err != nil {
			return credentials.Credential{}, err
		}
	}
	return credential, nil
}

// SPDX-License-Identifier: Apache-2.0

package versitygw

import (
	"context"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke removes the account's statements, then its users, and finally the stored key. The policy of a deleted bucket
// was deleted with it.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	if _, err := u.checkStore(ctx, request); err != nil {
		return err
	}
	buckets, err := u.bucketsOf(ctx, request)
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		if err := u.Policies.Drop(ctx, bucket, isUserOf(request.Name)); err != nil && !apierror.Is(err, "NoSuchBucket") {
			return err
		}
	}
	return credentials.RevokeSupplied(ctx, u.Store, request.ID, keysOf{users: u}, nil)
}

// bucketsOf returns the buckets recorded for the grant and those of the request.
func (u *Users) bucketsOf(ctx context.Context, request account.Request) ([]string, error) {
	note, err := credentials.StoredNote(ctx, u.Store, request.ID, account.NoteBuckets)
	if err != nil {
		return nil, err
	}
	noted := strings.Fields(note)
	for _, bucket := range request.Buckets {
		noted = append(noted, bucket.Name)
	}
	slices.Sort(noted)
	return slices.Compact(noted), nil
}

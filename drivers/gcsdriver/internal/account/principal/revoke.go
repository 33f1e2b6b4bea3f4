// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"context"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
)

// Revoke removes the bindings of the access from every bucket that still exists.
func (a *Principals) Revoke(ctx context.Context, request account.Request) error {
	err := a.Edit(ctx, request.Buckets, true, func(current *storage.Policy, bucket account.Bucket) (bool, error) {
		return a.claim(request, bucket.Name).Release(current), nil
	})
	if err != nil {
		return err
	}
	return a.Forget(ctx, request.ID)
}

// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// Revoke makes sure that the service account, its keys and its bindings do not exist. The keys go
// first, so that the access ends even if a later step fails, and the bindings even if a key cannot be
// removed yet; what is stored goes last, so that a repeated call still finds everything.
func (a *Accounts) Revoke(ctx context.Context, request account.Request) error {
	email := a.email(request.Name)
	found, exists, err := a.readServiceAccount(ctx, email)
	if err != nil {
		return err
	}
	var keysLeft error
	if exists {
		if err := a.checkRevocable(ctx, request, found); err != nil {
			return err
		}
		keysLeft = a.removeKeys(ctx, email, request.Credentials)
	}
	err = a.Edit(ctx, request.Buckets, true, func(current *storage.Policy, _ account.Bucket) (bool, error) {
		return policy.Remove(current, "serviceAccount:"+email), nil
	})
	if err := first(keysLeft, err); err != nil {
		return err
	}
	if exists {
		if err := a.deleteServiceAccount(ctx, email); err != nil {
			return err
		}
	}
	return a.Forget(ctx, request.ID, jsonEntry(request.ID))
}

// removeKeys removes the keys: all of them are tried, since one that is inactive already can take
// minutes until it can be deleted, and the others must not work so long. It removes those of the service account itself only if the class asked for some:
// they end with it, and a driver for HMAC keys alone need not have the right to list them.
func (a *Accounts) removeKeys(ctx context.Context, email string, asked params.Credentials) (left error) {
	kinds := []credentials.ShownOnceKeys{hmacKeys{a, email}}
	if asked.WantsJSON() {
		kinds = append(kinds, jsonKeys{a, email})
	}
	for _, keys := range kinds {
		live, err := keys.List(ctx)
		if err != nil {
			return first(left, account.UnlessMissing(err))
		}
		for _, key := range live {
			left = first(left, keys.Delete(ctx, key.ID))
		}
	}
	return left
}

// first returns the first error, nil if there is none.
func first(failures ...error) error {
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Accounts) checkRevocable(ctx context.Context, request account.Request, found *iam.ServiceAccount) error {
	is := parseMark(found.Description)
	if is.owner != a.Owner() || is.account != request.ID {
		return driverkit.FailedPrecondition("service account %s does not carry the mark of this driver, so it is not removed; remove it by hand if it is not needed", found.Email)
	}
	storeID, err := a.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	return checkStore(found, is, storeID)
}

func (a *Accounts) deleteServiceAccount(ctx context.Context, email string) error {
	_, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.delete", func(ctx context.Context) (*iam.Empty, error) {
		return a.IAM.Projects.ServiceAccounts.Delete(a.resource(email)).Context(ctx).Do()
	})
	return account.UnlessMissing(err)
}

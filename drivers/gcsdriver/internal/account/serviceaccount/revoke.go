// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"maps"
	"slices"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// Revoke ensures that the service account, its keys and its bindings do not exist. Keys are removed first, so the
// access ends even if a later step fails. Bindings are removed even if a key cannot be deleted yet. Stored entries
// are deleted last, so a repeated call still has all information.
func (a *Accounts) Revoke(ctx context.Context, request account.Request) error {
	email := a.email(request.Name)
	found, exists, err := a.findServiceAccount(ctx, email)
	if err == nil && exists {
		err = a.checkRevocable(ctx, request, found)
	}
	if err != nil {
		return err
	}
	known, keysLeft := a.removeKeys(ctx, email, request, exists)
	err = a.Edit(ctx, request.Buckets, true, func(current *storage.Policy, _ account.Bucket) (bool, error) {
		return policy.Remove(current, "serviceAccount:"+email), nil
	})
	if err := first(keysLeft, err); err != nil {
		return err
	}
	// Only the driver's own accounts have keys in the store. For those, Google's response decides whether the service
	// account exists.
	if exists || known {
		if err := a.deleteServiceAccount(ctx, email); err != nil {
			return err
		}
	}
	return a.Forget(ctx, request.ID, jsonEntry(request.ID))
}

// removeKeys removes the keys; known reports whether there were any. It tries all keys, because an inactive key can
// take minutes until it can be deleted, and the others must not work for that long. It lists the service account's
// own keys only if the class requested some: they are deleted with the service account, and a driver that only uses
// HMAC keys need not have permission to list them.
func (a *Accounts) removeKeys(ctx context.Context, email string, request account.Request, exists bool) (known bool, left error) {
	kinds := map[string]credentials.ShownOnceKeys{request.ID: hmacKeys{a, email}}
	if request.Credentials.WantsJSON() {
		kinds[jsonEntry(request.ID)] = jsonKeys{a, email}
	}
	for _, entry := range slices.Sorted(maps.Keys(kinds)) {
		ids, err := credentials.ShownOnceIDs(ctx, a.Store, entry, revocable{kinds[entry], exists})
		left = first(left, err)
		known = known || len(ids) > 0
		for _, id := range ids {
			left = first(left, kinds[entry].Delete(ctx, id))
		}
	}
	return known, left
}

// revocable manages the keys of a service account that may not exist or may have been deleted.
type revocable struct {
	credentials.ShownOnceKeys

	exists bool
}

// List implements credentials.ShownOnceKeys.
func (r revocable) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	if !r.exists {
		return nil, nil
	}
	keys, err := r.ShownOnceKeys.List(ctx)
	return keys, account.UnlessMissing(err)
}

// first returns the first error that is not nil.
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
		return driverkit.FailedPrecondition("service account %s does not have this driver's ownership mark, so the driver does not delete it; delete it manually if it is unused", found.Email)
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

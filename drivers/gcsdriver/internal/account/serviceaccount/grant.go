// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"net/http"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// Grant ensures that the account's service account exists with exactly the requested access, and returns its keys.
// Repeated calls return the same keys. Every step can be repeated after a failure at any point.
func (a *Accounts) Grant(ctx context.Context, request account.Request) (driverkit.GCSCredential, error) {
	storeID, err := a.Store.ID(ctx)
	if err != nil {
		return driverkit.GCSCredential{}, credentials.StoreError(request.ID, err)
	}
	found, isNew, err := a.ensureServiceAccount(ctx, request, storeID)
	if err != nil {
		return driverkit.GCSCredential{}, err
	}
	err = a.Edit(ctx, request.Buckets, false, func(current *storage.Policy, bucket account.Bucket) (bool, error) {
		return policy.SetRoles(current, "serviceAccount:"+found.Email, bucket.Roles), nil
	})
	if err != nil {
		return driverkit.GCSCredential{}, err
	}
	return a.keys(ctx, request, found, isNew)
}

// keys returns the requested keys.
func (a *Accounts) keys(ctx context.Context, request account.Request, of *iam.ServiceAccount, isNew bool) (driverkit.GCSCredential, error) {
	var credential driverkit.GCSCredential
	if request.Credentials.WantsHMAC() {
		pair, err := credentials.GrantShownOnce(ctx, a.Store, credentials.Request{Account: request.ID, Rotation: request.Rotation, New: isNew}, hmacKeys{a, of.Email})
		if err != nil {
			return driverkit.GCSCredential{}, err
		}
		credential.AccessID, credential.AccessSecret = pair.ID, pair.Secret
	}
	if request.Credentials.WantsJSON() {
		key, err := credentials.GrantShownOnce(ctx, a.Store, credentials.Request{Account: jsonEntry(request.ID), Rotation: request.Rotation, New: isNew}, jsonKeys{a, of.Email})
		if err != nil {
			return driverkit.GCSCredential{}, err
		}
		credential.PrivateKeyID, credential.PrivateKey = key.ID, key.Secret
		credential.ServiceAccount, credential.ClientEmail, credential.ClientID = of.Email, of.Email, of.UniqueId
	}
	return credential, nil
}

// jsonEntry returns the name of the credential store's entry for the account's service account key. The driver's
// account IDs contain no '/'.
func jsonEntry(id string) string { return id + "/json" }

// ensureServiceAccount creates the service account with its mark, or checks the mark of the existing one. isNew
// reports whether this call created it.
func (a *Accounts) ensureServiceAccount(ctx context.Context, request account.Request, storeID string) (found *iam.ServiceAccount, isNew bool, err error) {
	want := mark{account: request.ID, hash: request.Hash, store: storeID, owner: a.Owner()}
	email := a.email(request.Name)
	found, exists, err := a.readServiceAccount(ctx, email)
	known := false
	if err == nil && exists {
		known, err = a.known(ctx, request.ID)
	}
	// A service account without stored keys may have been deleted recently. Trying to create it shows whether it still
	// exists.
	if err == nil && !known {
		made, refusal := a.createServiceAccount(ctx, request, want)
		switch {
		case refusal == nil:
			return made, true, nil
		case exists:
		case apierror.Is(refusal, http.StatusConflict):
			if found, exists, err = a.findServiceAccount(ctx, email); err == nil && !exists {
				return nil, false, driverkit.Unavailable("service account %s has not propagated yet; the driver tries again", email)
			}
		default:
			err = refusal
		}
	}
	if err != nil {
		return nil, false, err
	}
	switch is := parseMark(found.Description); {
	case is.owner != want.owner || is.account != want.account:
		return nil, false, driverkit.AlreadyExists("service account %s already exists and was not created by this driver for this account; the driver does not change it", email)
	case is.store != want.store:
		return nil, false, checkStore(found, is, storeID)
	case is.hash != want.hash:
		return nil, false, account.Differs(request.ID)
	case found.Disabled:
		return nil, false, driverkit.FailedPrecondition("service account %s was disabled; enable it, or revoke the access", email)
	}
	return found, false, nil
}

// known reports whether the store has keys of the account.
func (a *Accounts) known(ctx context.Context, id string) (bool, error) {
	for _, entry := range []string{id, jsonEntry(id)} {
		if ids, err := credentials.StoredIDs(ctx, a.Store, entry); err != nil || len(ids) > 0 {
			return len(ids) > 0, err
		}
	}
	return false, nil
}

func (a *Accounts) createServiceAccount(ctx context.Context, request account.Request, marked mark) (*iam.ServiceAccount, error) {
	return call.Do(ctx, call.IAM, "projects.serviceAccounts.create", func(ctx context.Context) (*iam.ServiceAccount, error) {
		return a.IAM.Projects.ServiceAccounts.Create("projects/"+a.ID, &iam.CreateServiceAccountRequest{
			AccountId: names.ServiceAccount(request.Name),
			ServiceAccount: &iam.ServiceAccount{
				DisplayName: "COSI " + request.Name,
				Description: marked.String(),
			},
		}).Context(ctx).Do()
	})
}

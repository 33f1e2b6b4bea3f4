// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"net/http"
	"strings"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// GrantKeys makes sure that the account's service account exists with exactly the requested access,
// and answers its keys: the same ones on every repeat. Every step can be repeated after a failure at
// any point.
func (p *Project) GrantKeys(ctx context.Context, request Request) (driverkit.GCSCredential, error) {
	storeID, err := p.Store.ID(ctx)
	if err != nil {
		return driverkit.GCSCredential{}, credentials.StoreError(request.ID, err)
	}
	found, err := p.ensureServiceAccount(ctx, request, storeID)
	if err != nil {
		return driverkit.GCSCredential{}, err
	}
	err = p.edit(ctx, request.Buckets, false, func(current *storage.Policy, bucket Bucket) (bool, error) {
		return policy.SetRoles(current, "serviceAccount:"+found.Email, bucket.Roles), nil
	})
	if err != nil {
		return driverkit.GCSCredential{}, err
	}
	return p.keys(ctx, request, found)
}

// keys answers the keys that are asked for.
func (p *Project) keys(ctx context.Context, request Request, of *iam.ServiceAccount) (driverkit.GCSCredential, error) {
	var credential driverkit.GCSCredential
	if request.Credentials.WantsHMAC() {
		pair, err := credentials.GrantShownOnce(ctx, p.Store, credentials.Request{Account: request.ID, Rotation: request.Rotation}, hmacKeys{p, of.Email})
		if err != nil {
			return driverkit.GCSCredential{}, err
		}
		credential.AccessID, credential.AccessSecret = pair.ID, pair.Secret
	}
	if request.Credentials.WantsJSON() {
		key, err := credentials.GrantShownOnce(ctx, p.Store, credentials.Request{Account: jsonEntry(request.ID), Rotation: request.Rotation}, jsonKeys{p, of.Email})
		if err != nil {
			return driverkit.GCSCredential{}, err
		}
		credential.PrivateKeyID, credential.PrivateKey = key.ID, key.Secret
		credential.ServiceAccount, credential.ClientEmail, credential.ClientID = of.Email, of.Email, of.UniqueId
	}
	return credential, nil
}

// jsonEntry is where the credential store has the account's service account key. No account ID of
// this driver has a '/'.
func jsonEntry(id string) string { return id + "/json" }

// RevokeKeys makes sure that the service account, its keys and its bindings do not exist. The keys go
// first, so that the access ends even if a later step fails, and the bindings even if a key cannot be
// removed yet; what is stored goes last, so that a repeated call still finds everything.
func (p *Project) RevokeKeys(ctx context.Context, request Request) error {
	email := p.email(request.Name)
	found, exists, err := p.readServiceAccount(ctx, email)
	if err != nil {
		return err
	}
	var keysLeft error
	if exists {
		if err := p.checkRevocable(ctx, request, found); err != nil {
			return err
		}
		keysLeft = p.removeKeys(ctx, email, request.Credentials)
	}
	err = p.edit(ctx, request.Buckets, true, func(current *storage.Policy, _ Bucket) (bool, error) {
		return policy.Remove(current, "serviceAccount:"+email), nil
	})
	if err := first(keysLeft, err); err != nil {
		return err
	}
	if exists {
		if err := p.deleteServiceAccount(ctx, email); err != nil {
			return err
		}
	}
	return p.forget(ctx, request.ID, jsonEntry(request.ID))
}

// removeKeys removes the keys: all of them are tried, since one that is inactive already can take
// minutes until it can be deleted, and the others must not work so long. It removes those of the service account itself only if the class asked for some:
// they end with it, and a driver for HMAC keys alone need not have the right to list them.
func (p *Project) removeKeys(ctx context.Context, email string, asked params.Credentials) (left error) {
	kinds := []credentials.ShownOnceKeys{hmacKeys{p, email}}
	if asked.WantsJSON() {
		kinds = append(kinds, jsonKeys{p, email})
	}
	for _, keys := range kinds {
		live, err := keys.List(ctx)
		if err != nil {
			return first(left, unlessMissing(err))
		}
		for _, key := range live {
			left = first(left, keys.Delete(ctx, key.ID))
		}
	}
	return left
}

// first answers the first error, nil if there is none.
func first(failures ...error) error {
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Project) forget(ctx context.Context, entries ...string) error {
	for _, entry := range entries {
		if err := p.Store.Delete(ctx, entry); err != nil {
			return credentials.StoreError(entry, err)
		}
	}
	return nil
}

func (p *Project) checkRevocable(ctx context.Context, request Request, found *iam.ServiceAccount) error {
	is := parseMark(found.Description)
	if is.owner != p.owner() || is.account != request.ID {
		return driverkit.FailedPrecondition("service account %s does not carry the mark of this driver, so it is not removed; remove it by hand if it is not needed", found.Email)
	}
	storeID, err := p.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	return checkStore(found, is, storeID)
}

// ensureServiceAccount makes the service account with its mark, or checks the mark of the one that
// exists.
func (p *Project) ensureServiceAccount(ctx context.Context, request Request, storeID string) (*iam.ServiceAccount, error) {
	want := mark{account: request.ID, hash: request.Hash, store: storeID, owner: p.owner()}
	email := p.email(request.Name)
	found, exists, err := p.readServiceAccount(ctx, email)
	if err == nil && !exists {
		found, err = p.createServiceAccount(ctx, request, want)
		if apierror.Is(err, http.StatusConflict) {
			if found, exists, err = p.readServiceAccount(ctx, email); err == nil && !exists {
				return nil, driverkit.Unavailable("service account %s exists, but not everywhere yet; the driver tries again", email)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	switch is := parseMark(found.Description); {
	case is.owner != want.owner || is.account != want.account:
		return nil, driverkit.AlreadyExists("service account %s exists and was not made by this driver for this account; it is left alone", email)
	case is.store != want.store:
		return nil, checkStore(found, is, storeID)
	case is.hash != want.hash:
		return nil, otherwise(request.ID)
	case found.Disabled:
		return nil, driverkit.FailedPrecondition("service account %s was disabled; enable it, or revoke the access", email)
	}
	return found, nil
}

// checkStore refuses service accounts whose keys are in another credential store: with their keys
// unknown, live ones would look like keys that were never delivered.
func checkStore(found *iam.ServiceAccount, is mark, storeID string) error {
	if is.store == storeID {
		return nil
	}
	repaired := is
	repaired.store = storeID
	return driverkit.FailedPrecondition("credential store lost: the keys of service account %s are in the credential store %q, but this driver has %q. "+
		"Restore that store. Or, to have its keys replaced by new ones, run: gcloud iam service-accounts update %s --description='%s'",
		found.Email, is.store, storeID, found.Email, repaired)
}

func (p *Project) createServiceAccount(ctx context.Context, request Request, marked mark) (*iam.ServiceAccount, error) {
	return call.Do(ctx, call.IAM, "projects.serviceAccounts.create", func(ctx context.Context) (*iam.ServiceAccount, error) {
		return p.IAM.Projects.ServiceAccounts.Create("projects/"+p.ID, &iam.CreateServiceAccountRequest{
			AccountId: names.ServiceAccount(request.Name),
			ServiceAccount: &iam.ServiceAccount{
				DisplayName: "COSI " + request.Name,
				Description: marked.String(),
			},
		}).Context(ctx).Do()
	})
}

// readServiceAccount answers a service account, and whether it exists.
func (p *Project) readServiceAccount(ctx context.Context, email string) (*iam.ServiceAccount, bool, error) {
	found, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.get", func(ctx context.Context) (*iam.ServiceAccount, error) {
		return p.IAM.Projects.ServiceAccounts.Get(p.resource(email)).Context(ctx).Do()
	})
	if apierror.IsMissing(err) {
		return nil, false, nil
	}
	return found, err == nil, err
}

func (p *Project) deleteServiceAccount(ctx context.Context, email string) error {
	_, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.delete", func(ctx context.Context) (*iam.Empty, error) {
		return p.IAM.Projects.ServiceAccounts.Delete(p.resource(email)).Context(ctx).Do()
	})
	return unlessMissing(err)
}

// resource is the full name of a service account.
func (p *Project) resource(email string) string {
	return "projects/" + p.ID + "/serviceAccounts/" + email
}

// email is the address of the service account that stands for an account. In a project of a domain,
// "example.com:project", it ends with the parts in the other order.
func (p *Project) email(name string) string {
	project := p.ID
	if domain, id, found := strings.Cut(project, ":"); found {
		project = id + "." + domain
	}
	return names.ServiceAccount(name) + "@" + project + ".iam.gserviceaccount.com"
}

// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount manages accounts with keys. Each account has its own Google service account with HMAC keys,
// service account keys, or both.
package serviceaccount

import (
	"context"
	"strings"

	iam "google.golang.org/api/iam/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
)

// Accounts manages the service accounts of one project.
type Accounts struct {
	*account.Project
}

// findServiceAccount is readServiceAccount with repeated reads while the service account is missing.
func (a *Accounts) findServiceAccount(ctx context.Context, email string) (*iam.ServiceAccount, bool, error) {
	return driverkit.Find(ctx, a.ReadLag, func(ctx context.Context) (*iam.ServiceAccount, bool, error) {
		return a.readServiceAccount(ctx, email)
	})
}

// readServiceAccount returns a service account and reports whether it exists.
func (a *Accounts) readServiceAccount(ctx context.Context, email string) (*iam.ServiceAccount, bool, error) {
	found, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.get", func(ctx context.Context) (*iam.ServiceAccount, error) {
		return a.IAM.Projects.ServiceAccounts.Get(a.resource(email)).Context(ctx).Do()
	})
	if apierror.IsMissing(err) {
		return nil, false, nil
	}
	return found, err == nil, err
}

// checkStore returns an error for service accounts whose keys are in another credential store. The driver could not
// distinguish their live keys from keys that were never delivered.
func checkStore(found *iam.ServiceAccount, is mark, storeID string) error {
	if is.store == storeID {
		return nil
	}
	repaired := is
	repaired.store = storeID
	return driverkit.FailedPrecondition("credential store lost: the keys of service account %s are in the credential store %q, but this driver has %q. "+
		"Restore that store. Or, to replace the keys with new ones, run: gcloud iam service-accounts update %s --description='%s'",
		found.Email, is.store, storeID, found.Email, repaired)
}

// resource returns the full resource name of a service account.
func (a *Accounts) resource(email string) string {
	return "projects/" + a.ID + "/serviceAccounts/" + email
}

// email returns the address of the service account for an account. For a domain-scoped project,
// "example.com:project", the two parts are in reverse order at the end of the address.
func (a *Accounts) email(name string) string {
	project := a.ID
	if domain, id, found := strings.Cut(project, ":"); found {
		project = id + "." + domain
	}
	return names.ServiceAccount(name) + "@" + project + ".iam.gserviceaccount.com"
}

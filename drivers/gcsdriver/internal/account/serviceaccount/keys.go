// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"

	iam "google.golang.org/api/iam/v1"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// States of an HMAC key ("HMAC keys"). A key must be inactive before it can be deleted.
const (
	stateActive   = "ACTIVE"
	stateInactive = "INACTIVE"
	stateDeleted  = "DELETED"
)

const (
	// createAttempts is how often one call tries to create a key for an account that has not propagated yet, for about
	// ten seconds in total.
	createAttempts = 8
	// deleteAttempts is how often one call tries to delete a key whose deactivation has not propagated yet. Propagation
	// can take three minutes, which later calls wait out.
	deleteAttempts = 4
)

// nothing is the result of calls without one.
type nothing struct{}

// hmacKeys are the HMAC keys of one service account.
type hmacKeys struct {
	accounts *Accounts
	email    string
}

// List implements credentials.ShownOnceKeys.
func (k hmacKeys) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	var keys []credentials.ShownOnceKey
	token := ""
	for {
		page, err := call.Do(ctx, call.Storage, "projects.hmacKeys.list", func(ctx context.Context) (*storage.HmacKeysMetadata, error) {
			return k.api().List(k.accounts.ID).ServiceAccountEmail(k.email).PageToken(token).Context(ctx).Do()
		})
		if err != nil {
			return nil, err
		}
		for _, key := range page.Items {
			if key.State != stateDeleted {
				keys = append(keys, credentials.ShownOnceKey{ID: key.AccessId, Active: key.State == stateActive})
			}
		}
		if token = page.NextPageToken; token == "" {
			return keys, nil
		}
	}
}

// Create implements credentials.ShownOnceKeys.
func (k hmacKeys) Create(ctx context.Context) (credentials.Credential, error) {
	made, err := call.Settle(ctx, createAttempts, apierror.IsMissing, func() (*storage.HmacKey, error) {
		return call.DoOnce(ctx, call.Storage, "projects.hmacKeys.create", func(ctx context.Context) (*storage.HmacKey, error) {
			return k.api().Create(k.accounts.ID, k.email).Context(ctx).Do()
		})
	})
	if err != nil {
		return credentials.Credential{}, whyNoKey(ctx, k, "HMAC keys", k.email, err)
	}
	if made.Metadata == nil {
		return credentials.Credential{}, errors.New("create an HMAC key: the response has no metadata")
	}
	return credentials.Credential{ID: made.Metadata.AccessId, Secret: cosi.NewSecret(made.Secret)}, nil
}

// Delete implements credentials.ShownOnceKeys. Both steps can be repeated: deactivating an inactive key changes
// nothing.
func (k hmacKeys) Delete(ctx context.Context, id string) error {
	updated, err := call.Do(ctx, call.Storage, "projects.hmacKeys.update", func(ctx context.Context) (*storage.HmacKeyMetadata, error) {
		return k.api().Update(k.accounts.ID, id, &storage.HmacKeyMetadata{State: stateInactive}).Context(ctx).Do()
	})
	if apierror.Is(err, http.StatusBadRequest) {
		return k.unlessDeleted(ctx, id, err)
	}
	if err != nil || updated.State == stateDeleted {
		return account.UnlessMissing(err)
	}
	_, err = call.Settle(ctx, deleteAttempts, stillActive, func() (nothing, error) {
		return call.Do(ctx, call.Storage, "projects.hmacKeys.delete", func(ctx context.Context) (nothing, error) {
			return nothing{}, k.api().Delete(k.accounts.ID, id).Context(ctx).Do()
		})
	})
	return apierror.Translate("HMAC key "+id, account.UnlessMissing(err))
}

// maxKeys is the maximum number of keys of each kind per service account ("HMAC keys"; "Quotas and limits" of IAM).
const maxKeys = 10

// whyNoKey returns the error for a rejected new key. Google rejects the eleventh key with codes that have other
// meanings too, such as a rate limit or an organization policy, so the keys are counted.
func whyNoKey(ctx context.Context, keys credentials.ShownOnceKeys, kind, email string, refusal error) error {
	if !apierror.Is(refusal, http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests) {
		return refusal
	}
	live, err := keys.List(ctx)
	if err != nil || len(live) < maxKeys {
		return refusal
	}
	return driverkit.ResourceExhausted("service account %s has the maximum number of %s (ten); delete unused ones", email, kind).WithDetail(refusal)
}

// unlessDeleted ignores the rejected change of a key that is already deleted, which Google still lists for a while.
// Reads may not show the deletion yet.
func (k hmacKeys) unlessDeleted(ctx context.Context, id string, refusal error) error {
	_, deleted, err := driverkit.Find(ctx, k.accounts.ReadLag, func(ctx context.Context) (*storage.HmacKeyMetadata, bool, error) {
		found, err := call.Do(ctx, call.Storage, "projects.hmacKeys.get", func(ctx context.Context) (*storage.HmacKeyMetadata, error) {
			return k.api().Get(k.accounts.ID, id).Context(ctx).Do()
		})
		if apierror.IsMissing(err) {
			return nil, true, nil
		}
		return found, err == nil && found.State == stateDeleted, err
	})
	if err == nil && !deleted {
		return driverkit.Unavailable("Google Cloud rejects the deactivation of HMAC key %s, and reads do not show yet whether the key is already deleted; the driver tries again", id).WithDetail(refusal)
	}
	return err
}

func stillActive(err error) bool {
	return apierror.Is(err, http.StatusBadRequest, http.StatusPreconditionFailed)
}

func (k hmacKeys) api() *storage.ProjectsHmacKeysService { return k.accounts.Storage.Projects.HmacKeys }

// jsonKeys are the user-managed keys of one service account, as opposed to those that Google manages.
type jsonKeys struct {
	accounts *Accounts
	email    string
}

// List implements credentials.ShownOnceKeys.
func (k jsonKeys) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	found, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.keys.list", func(ctx context.Context) (*iam.ListServiceAccountKeysResponse, error) {
		return k.api().List(k.accounts.resource(k.email)).KeyTypes("USER_MANAGED").Context(ctx).Do()
	})
	if err != nil {
		return nil, err
	}
	var keys []credentials.ShownOnceKey
	for _, key := range found.Keys {
		keys = append(keys, credentials.ShownOnceKey{ID: path.Base(key.Name), Active: !key.Disabled})
	}
	return keys, nil
}

// Create implements credentials.ShownOnceKeys.
func (k jsonKeys) Create(ctx context.Context) (credentials.Credential, error) {
	made, err := call.Settle(ctx, createAttempts, apierror.IsMissing, func() (*iam.ServiceAccountKey, error) {
		return call.DoOnce(ctx, call.IAM, "projects.serviceAccounts.keys.create", func(ctx context.Context) (*iam.ServiceAccountKey, error) {
			return k.api().Create(k.accounts.resource(k.email), &iam.CreateServiceAccountKeyRequest{
				PrivateKeyType: "TYPE_GOOGLE_CREDENTIALS_FILE",
			}).Context(ctx).Do()
		})
	})
	if err != nil {
		return credentials.Credential{}, whyNoKey(ctx, k, "keys", k.email, err)
	}
	return parseKey(made.PrivateKeyData)
}

// parseKey parses the key file that a user would download.
func parseKey(encoded string) (credentials.Credential, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return credentials.Credential{}, errors.New("create a service account key: the response is not base64")
	}
	var file struct {
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
	}
	// The decoder's error could contain the key.
	if json.Unmarshal(data, &file) != nil || file.PrivateKeyID == "" || file.PrivateKey == "" {
		return credentials.Credential{}, errors.New("create a service account key: the response is not a credentials file")
	}
	return credentials.Credential{ID: file.PrivateKeyID, Secret: cosi.NewSecret(file.PrivateKey)}, nil
}

// Delete implements credentials.ShownOnceKeys.
func (k jsonKeys) Delete(ctx context.Context, id string) error {
	_, err := call.Do(ctx, call.IAM, "projects.serviceAccounts.keys.delete", func(ctx context.Context) (*iam.Empty, error) {
		return k.api().Delete(fmt.Sprintf("%s/keys/%s", k.accounts.resource(k.email), id)).Context(ctx).Do()
	})
	return account.UnlessMissing(err)
}

func (k jsonKeys) api() *iam.ProjectsServiceAccountsKeysService {
	return k.accounts.IAM.Projects.ServiceAccounts.Keys
}

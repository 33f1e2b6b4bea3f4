// SPDX-License-Identifier: Apache-2.0

package minio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// keysOf manages the users that have the policy of one account, which is named after the account.
type keysOf struct {
	users  *Users
	policy string
}

// Make implements credentials.SuppliedKeys.
func (k keysOf) Make() credentials.Credential { return account.NewKey(k.policy) }

// Ensure implements credentials.SuppliedKeys. A user that has the policy was completed earlier, with the stored
// secret. A user that an administrator disabled remains disabled.
func (k keysOf) Ensure(ctx context.Context, key credentials.Credential) error {
	found, err := k.info(ctx, key.ID)
	switch {
	case err != nil:
		return err
	case found.Status != "" && found.Status != statusEnabled:
		return driverkit.FailedPrecondition("user %s was disabled in the store; enable it, or delete it to let the driver create it again", key.ID)
	case found.Policy == k.policy:
		return nil
	}
	if err := k.addUser(ctx, key); err != nil {
		return err
	}
	_, err = k.users.call(ctx, http.MethodPut, "set-user-or-group-policy", url.Values{
		"policyName": {k.policy}, "userOrGroup": {key.ID}, "isGroup": {"false"},
	}, nil)
	return err
}

// addUser creates the user or replaces its secret.
func (k keysOf) addUser(ctx context.Context, key credentials.Credential) error {
	body, err := json.Marshal(map[string]string{"secretKey": key.Secret.Reveal(), "status": statusEnabled})
	if err != nil {
		return fmt.Errorf("create the user %s: %w", key.ID, err)
	}
	own, err := k.users.API.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("find the driver's credentials: %w", err)
	}
	sealed, err := encrypt(own.SecretAccessKey, body)
	if err != nil {
		return err
	}
	_, err = k.users.call(ctx, http.MethodPut, "add-user", url.Values{"accessKey": {key.ID}}, sealed)
	return err
}

// userInfo is MinIO's description of a user, or empty if the user does not exist.
type userInfo struct {
	Status string `json:"status"`
	Policy string `json:"policyName"`
}

func (k keysOf) info(ctx context.Context, id string) (userInfo, error) {
	answer, err := k.users.call(ctx, http.MethodGet, "user-info", url.Values{"accessKey": {id}}, nil)
	if apierror.Is(err, codeNoUser) {
		return userInfo{}, nil
	}
	if err != nil {
		return userInfo{}, err
	}
	var found userInfo
	if err := json.Unmarshal(answer, &found); err != nil {
		return userInfo{}, fmt.Errorf("read the user %s: %w", id, err)
	}
	return found, nil
}

// Remove implements credentials.SuppliedKeys.
func (k keysOf) Remove(ctx context.Context, id string) error {
	_, err := k.users.call(ctx, http.MethodDelete, "remove-user", url.Values{"accessKey": {id}}, nil)
	if apierror.Is(err, codeNoUser) {
		return nil
	}
	return err
}

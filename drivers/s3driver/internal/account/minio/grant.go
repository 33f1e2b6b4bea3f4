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
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Grant ensures that the account's policy and user exist, and returns the user's key.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.Credential{}, credentials.StoreError(request.ID, err)
	}
	found, err := u.checkOwner(ctx, request.Name, storeID, driverkit.AlreadyExists)
	if err != nil {
		return credentials.Credential{}, err
	}
	if found.hash != "" && found.hash != request.Hash {
		return credentials.Credential{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.ID)
	}
	document, err := policy.Build(dialect, request.Buckets)
	if err != nil {
		return credentials.Credential{}, err
	}
	// The policy is created before the user, so the mark exists for as long as the user does.
	if err := u.putPolicy(ctx, request.Name, u.mark(storeID)+request.Hash, document, found.document); err != nil {
		return credentials.Credential{}, err
	}
	return credentials.GrantSupplied(ctx, u.Store, request.Supplied(), keysOf{u, request.Name})
}

// putPolicy writes the document with the mark as its ID.
func (u *Users) putPolicy(ctx context.Context, name, mark, document string, found json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &fields); err != nil {
		return fmt.Errorf("mark the policy %s: %w", name, err)
	}
	id, err := json.Marshal(mark)
	if err != nil {
		return fmt.Errorf("mark the policy %s: %w", name, err)
	}
	fields["ID"] = id
	marked, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("mark the policy %s: %w", name, err)
	}
	if policy.Same(found, marked) {
		return nil
	}
	_, err = u.call(ctx, http.MethodPut, "add-canned-policy", url.Values{"name": {name}}, marked)
	return err
}

// SPDX-License-Identifier: Apache-2.0

// Package minio manages accounts on MinIO through its admin API: one policy an account, and one user
// for each of its keys. The client is our own; no code of MinIO is linked.
package minio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

const (
	base          = "/minio/admin/v3/"
	codeNoPolicy  = "XMinioAdminNoSuchPolicy"
	codeNoUser    = "XMinioAdminNoSuchUser"
	codeNoQuota   = "XMinioAdminNoSuchQuotaConfiguration"
	statusEnabled = "enabled"
	// nobody is a name that no account gets.
	nobody = "cosi-nobody"
)

// Users manages the users of one MinIO. All fields but Cluster are required.
type Users struct {
	// API is the client, with the driver's own credentials.
	API *adminapi.Client
	// Store keeps the keys.
	Store credentials.Store
	// Driver and Cluster are marked on every policy.
	Driver, Cluster string
}

// dialect leaves out what MinIO does not have.
var dialect = policy.Dialect{
	Partition: "aws",
	Without: []string{
		"s3:GetBucketCORS", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock",
	},
}

// Check implements the checks of phase 1: MinIO takes policies of any size that COSI can ask for.
func (u *Users) Check(request account.Request) error {
	_, err := policy.Build(dialect, request.Buckets)
	return err
}

// Grant makes sure that the account's policy and user exist, and answers the user's key.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.Credential{}, credentials.StoreError(request.ID, err)
	}
	hash, err := u.checkOwner(ctx, request.Name, storeID, driverkit.AlreadyExists)
	if err != nil {
		return credentials.Credential{}, err
	}
	if hash != "" && hash != request.Hash {
		return credentials.Credential{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", request.ID)
	}
	document, err := policy.Build(dialect, request.Buckets)
	if err != nil {
		return credentials.Credential{}, err
	}
	// The policy comes before the user, so that its mark is there as long as there is a user.
	if err := u.putPolicy(ctx, request.Name, u.mark(storeID)+request.Hash, document); err != nil {
		return credentials.Credential{}, err
	}
	return credentials.GrantSupplied(ctx, u.Store, request.Supplied(), keysOf{u, request.Name})
}

// Revoke removes the account's users, then its policy, and the stored key last.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	if _, err := u.checkOwner(ctx, request.Name, storeID, driverkit.FailedPrecondition); err != nil {
		return err
	}
	return credentials.RevokeSupplied(ctx, u.Store, request.ID, keysOf{u, request.Name}, func(ctx context.Context) error {
		_, err := u.call(ctx, http.MethodDelete, "remove-canned-policy", url.Values{"name": {request.Name}}, nil)
		if apierror.Is(err, codeNoPolicy) {
			return nil
		}
		return err
	})
}

// mark is how the ID of a policy begins that says whose it is. The hash of the request follows.
func (u *Users) mark(storeID string) string {
	return u.markOfAnyStore() + storeID + ";"
}

func (u *Users) markOfAnyStore() string { return "cosi;" + u.Driver + ";" + u.Cluster + ";" }

// checkOwner answers the hash of the request that made the account, empty if there is none. It
// refuses the policy of somebody else, with the code of foreign, and one whose users have their keys
// in another credential store.
func (u *Users) checkOwner(ctx context.Context, name, storeID string, foreign func(string, ...any) *driverkit.Error) (string, error) {
	answer, err := u.call(ctx, http.MethodGet, "info-canned-policy", url.Values{"name": {name}, "v": {"2"}}, nil)
	if apierror.Is(err, codeNoPolicy) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var info struct {
		Policy struct {
			ID string `json:"ID"`
		} `json:"Policy"`
	}
	if err := json.Unmarshal(answer, &info); err != nil {
		return "", fmt.Errorf("read the policy %s: %w", name, err)
	}
	if hash, ours := strings.CutPrefix(info.Policy.ID, u.mark(storeID)); ours {
		return hash, nil
	}
	otherStore, ours := strings.CutPrefix(info.Policy.ID, u.markOfAnyStore())
	if !ours {
		return "", foreign("policy %s exists and was not made by this driver; it is left alone", name)
	}
	otherStore, _, _ = strings.Cut(otherStore, ";")
	return "", driverkit.FailedPrecondition("credential store lost: the keys of account %s are in the credential store %q, but this driver has %q. "+
		"Restore that store. Or, to have its keys replaced by new ones, remove its users and then run: mc admin policy remove ALIAS %s",
		name, otherStore, storeID, name)
}

// putPolicy writes the document with the mark as its ID.
func (u *Users) putPolicy(ctx context.Context, name, mark, document string) error {
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
	_, err = u.call(ctx, http.MethodPut, "add-canned-policy", url.Values{"name": {name}}, marked)
	return err
}

func (u *Users) call(ctx context.Context, method, operation string, query url.Values, body []byte) ([]byte, error) {
	return u.API.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: base + operation, Query: query, Body: body})
}

// keysOf are the users that have the policy of one account, which has its name.
type keysOf struct {
	users  *Users
	policy string
}

// Make implements credentials.SuppliedKeys.
func (k keysOf) Make() credentials.Credential { return account.NewKey(k.policy) }

// Ensure implements credentials.SuppliedKeys. A user that has the policy was completed before, with the stored
// secret; one that an administrator disabled stays so.
func (k keysOf) Ensure(ctx context.Context, key credentials.Credential) error {
	found, err := k.info(ctx, key.ID)
	switch {
	case err != nil:
		return err
	case found.Status != "" && found.Status != statusEnabled:
		return driverkit.FailedPrecondition("user %s was disabled at the store; enable it, or remove it to have it made again", key.ID)
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

// addUser makes the user or replaces its secret.
func (k keysOf) addUser(ctx context.Context, key credentials.Credential) error {
	body, err := json.Marshal(map[string]string{"secretKey": key.Secret.Reveal(), "status": statusEnabled})
	if err != nil {
		return fmt.Errorf("make the user %s: %w", key.ID, err)
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

// userInfo is a user as MinIO describes it; empty if there is none.
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

// Answers asks for a policy that is not there.
func (u *Users) Answers(ctx context.Context) error {
	_, err := u.call(ctx, http.MethodGet, "info-canned-policy", url.Values{"name": {nobody}, "v": {"2"}}, nil)
	if apierror.Is(err, codeNoPolicy) {
		return nil
	}
	return err
}

// Quota limits the size of buckets.
type Quota struct {
	// API is the client, with the driver's own credentials.
	API *adminapi.Client
}

// quota is a limit as MinIO has it: under its former name, quota, and under the present one.
type quota struct {
	Former int64  `json:"quota"`
	Size   int64  `json:"size"`
	Type   string `json:"quotatype"`
}

// Set limits the total size of the bucket's objects.
func (q Quota) Set(ctx context.Context, bucket string, bytes int64) error {
	body, err := json.Marshal(quota{Former: bytes, Size: bytes, Type: "hard"})
	if err != nil {
		return fmt.Errorf("set the quota of bucket %s: %w", bucket, err)
	}
	_, err = q.call(ctx, http.MethodPut, "set-bucket-quota", bucket, body)
	return err
}

// Get answers the limit, 0 without one.
func (q Quota) Get(ctx context.Context, bucket string) (int64, error) {
	answer, err := q.call(ctx, http.MethodGet, "get-bucket-quota", bucket, nil)
	if apierror.Is(err, codeNoQuota) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var found quota
	if err := json.Unmarshal(answer, &found); err != nil {
		return 0, fmt.Errorf("read the quota of bucket %s: %w", bucket, err)
	}
	return max(found.Former, found.Size), nil
}

func (q Quota) call(ctx context.Context, method, operation, bucket string, body []byte) ([]byte, error) {
	return q.API.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: base + operation, Query: url.Values{"bucket": {bucket}}, Body: body})
}

// SPDX-License-Identifier: Apache-2.0

// Package minio manages accounts on MinIO through its admin API. Each account has one policy, and one user for each
// of its keys. The package has its own client and does not import any MinIO code.
package minio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

const (
	base          = "/minio/admin/v3/"
	codeNoPolicy  = "XMinioAdminNoSuchPolicy"
	codeNoUser    = "XMinioAdminNoSuchUser"
	codeNoQuota   = "XMinioAdminNoSuchQuotaConfiguration"
	statusEnabled = "enabled"
	// missing is the name of an account that never exists.
	missing = "cosi-nobody"
)

// Users manages the users of one MinIO server. All fields except Cluster are required.
type Users struct {
	// API is the client, with the driver's own credentials.
	API *adminapi.Client
	// Store stores the keys.
	Store credentials.Store
	// Driver and Cluster are written to the marks of every policy.
	Driver, Cluster string
}

// dialect omits what MinIO does not support.
var dialect = policy.Dialect{
	Partition: "aws",
	Without: []string{
		"s3:GetBucketCORS", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock",
	},
}

// Check returns an error if no policy can express the request. It makes no calls. MinIO accepts policies of any size
// that COSI can request.
func (u *Users) Check(request account.Request) error {
	_, err := policy.Build(dialect, request.Buckets)
	return err
}

// mark returns the prefix of a policy's ID that identifies the owner. The hash of the request follows it.
func (u *Users) mark(storeID string) string {
	return u.markOfAnyStore() + storeID + ";"
}

func (u *Users) markOfAnyStore() string { return "cosi;" + u.Driver + ";" + u.Cluster + ";" }

// existing is the policy of an account, or empty if there is none.
type existing struct {
	// hash is the hash of the request that created the account.
	hash     string
	document json.RawMessage
}

// checkOwner returns the account's policy. If the policy has another owner, it returns an error made by foreign. It
// also returns an error if the users' keys are in another credential store.
func (u *Users) checkOwner(ctx context.Context, name, storeID string, foreign func(string, ...any) *driverkit.Error) (existing, error) {
	answer, err := u.call(ctx, http.MethodGet, "info-canned-policy", url.Values{"name": {name}, "v": {"2"}}, nil)
	if apierror.Is(err, codeNoPolicy) {
		return existing{}, nil
	}
	if err != nil {
		return existing{}, err
	}
	var info struct {
		Policy json.RawMessage `json:"Policy"`
	}
	var marked struct {
		ID string `json:"ID"`
	}
	if err := errors.Join(json.Unmarshal(answer, &info), json.Unmarshal(info.Policy, &marked)); err != nil {
		return existing{}, fmt.Errorf("read the policy %s: %w", name, err)
	}
	if hash, ours := strings.CutPrefix(marked.ID, u.mark(storeID)); ours {
		return existing{hash, info.Policy}, nil
	}
	otherStore, ours := strings.CutPrefix(marked.ID, u.markOfAnyStore())
	if !ours {
		return existing{}, foreign("policy %s already exists and was not created by this driver; the driver does not change it", name)
	}
	otherStore, _, _ = strings.Cut(otherStore, ";")
	return existing{}, driverkit.FailedPrecondition("credential store lost: the keys of account %s are in the credential store %q, but this driver has %q. "+
		"Restore that store. Or, to replace the keys with new ones, delete the account's users and then run: mc admin policy remove ALIAS %s",
		name, otherStore, storeID, name)
}

func (u *Users) call(ctx context.Context, method, operation string, query url.Values, body []byte) ([]byte, error) {
	return u.API.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: base + operation, Query: query, Body: body})
}

// Ping reads a policy that does not exist.
func (u *Users) Ping(ctx context.Context) error {
	_, err := u.call(ctx, http.MethodGet, "info-canned-policy", url.Values{"name": {missing}, "v": {"2"}}, nil)
	if apierror.Is(err, codeNoPolicy) {
		return nil
	}
	return err
}

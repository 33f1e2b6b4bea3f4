// SPDX-License-Identifier: Apache-2.0

// Package versitygw manages accounts on versitygw. It creates users through the admin API and sets their permissions
// in bucket policies. Versitygw applies no other policies to these users.
package versitygw

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/bucketpolicy"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

const (
	codeUserExists   = "XAdminUserExists"
	codeUserNotFound = "XAdminUserNotFound"
	// roleUser is the role without any permissions of its own.
	roleUser = "user"
)

// Users manages the users of one gateway. Create it with New.
type Users struct {
	// API is the admin API, with the driver's own credentials.
	API *adminapi.Client
	// Policies edits the bucket policies.
	Policies *bucketpolicy.Editor
	// Store stores the keys.
	Store credentials.Store
}

var dialect = policy.Dialect{Partition: "aws"}

// New returns Users for one gateway. The gateway rejects policies that name a user that does not exist.
func New(api *adminapi.Client, client *s3.Client, store credentials.Store) *Users {
	users := &Users{API: api, Store: store}
	users.Policies = &bucketpolicy.Editor{S3: client, Dialect: dialect, Kind: "AWS", Present: users.list}
	return users
}

// Check returns an error if no policy can express the request. It makes no calls.
func (u *Users) Check(request account.Request) error {
	for _, bucket := range request.Buckets {
		if _, err := policy.Build(dialect, []policy.Bucket{bucket}); err != nil {
			return err
		}
	}
	return nil
}

// checkStore returns all users. It returns an error if the account has a user that is not in the credential store.
// Every user is stored before it is created at the gateway, so such a user was created with another credential store.
func (u *Users) checkStore(ctx context.Context, request account.Request) ([]string, error) {
	names, err := u.list(ctx)
	if err != nil {
		return nil, err
	}
	known, err := credentials.StoredIDs(ctx, u.Store, request.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if isUserOf(request.Name)(name) && !slices.Contains(known, name) {
			return nil, driverkit.FailedPrecondition("credential store lost: the key of user %s is not in the driver's credential store. "+
				"Restore that store. Or, to replace the key with a new one, delete the user: versitygw admin delete-user --access %s", name, name)
		}
	}
	return names, nil
}

// isUserOf returns a function that reports whether an access key belongs to an account, according to its name.
func isUserOf(accountName string) func(key string) bool {
	const suffix = "-00000000"
	return func(key string) bool {
		return strings.HasPrefix(key, accountName+"-") && len(key) == len(accountName)+len(suffix)
	}
}

type xmlAccount struct {
	XMLName xml.Name `xml:"Account"`
	Access  string   `xml:"Access"`
	Secret  string   `xml:"Secret"`
	Role    string   `xml:"Role"`
}

type xmlProperties struct {
	XMLName xml.Name `xml:"MutableProps"`
	Secret  string   `xml:"Secret"`
}

type xmlAccounts struct {
	Accounts []struct {
		Access string `xml:"Access"`
	} `xml:"Accounts"`
}

// list returns the access keys of all users.
func (u *Users) list(ctx context.Context) ([]string, error) {
	answer, err := u.API.Call(ctx, adminapi.Request{Operation: "list-users", Method: http.MethodPatch, Path: "/list-users"})
	if err != nil {
		return nil, err
	}
	var parsed xmlAccounts
	if err := xml.Unmarshal(answer, &parsed); err != nil {
		return nil, fmt.Errorf("read the list of users: %w", err)
	}
	var names []string
	for _, found := range parsed.Accounts {
		names = append(names, found.Access)
	}
	return names, nil
}

func (u *Users) call(ctx context.Context, operation string, query url.Values, document any) error {
	var body []byte
	if document != nil {
		var err error
		if body, err = xml.Marshal(document); err != nil {
			return fmt.Errorf("create the request %s: %w", operation, err)
		}
	}
	_, err := u.API.Call(ctx, adminapi.Request{Operation: operation, Method: http.MethodPatch, Path: "/" + operation, Query: query, Body: body})
	return err
}

// Ping lists the users.
func (u *Users) Ping(ctx context.Context) error {
	_, err := u.list(ctx)
	return err
}

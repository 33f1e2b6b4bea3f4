// SPDX-License-Identifier: Apache-2.0

// Package versitygw manages accounts on versitygw: users through its admin API, and their rights in
// bucket policies, the only policies that its own accounts have.
//
// A bucket policy is one document for all accounts of a bucket, without any way to change it only if
// nobody else did. Within this process a lock keeps two changes apart; two processes must not manage
// one store.
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
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

const (
	codeUserExists   = "XAdminUserExists"
	codeUserNotFound = "XAdminUserNotFound"
	// roleUser can do nothing by itself.
	roleUser = "user"
)

// Users manages the users of one gateway. All fields are required.
type Users struct {
	// API is the admin API, with the driver's own credentials.
	API *adminapi.Client
	// S3 is the client for the bucket policies.
	S3 *s3.Client
	// Store keeps the keys.
	Store credentials.Store

	locks locks
}

var dialect = policy.Dialect{Partition: "aws"}

// Check implements the checks of phase 1.
func (u *Users) Check(request account.Request) error {
	for _, bucket := range request.Buckets {
		if _, err := policy.Build(dialect, []policy.Bucket{bucket}); err != nil {
			return err
		}
	}
	return nil
}

// Grant makes sure that the account's user and its statements exist, and answers the user's key.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	if err := u.checkStore(ctx, request); err != nil {
		return credentials.Credential{}, err
	}
	credential, err := credentials.GrantSupplied(ctx, u.Store, request.Supplied(), keysOf{u, request})
	if err != nil {
		return credentials.Credential{}, err
	}
	principals, err := credentials.StoredIDs(ctx, u.Store, request.ID)
	if err != nil {
		return credentials.Credential{}, err
	}
	for _, bucket := range request.Buckets {
		if err := u.editPolicy(ctx, bucket.Name, setAccess(request.Name, bucket, principals)); err != nil {
			return credentials.Credential{}, err
		}
	}
	return credential, nil
}

// Revoke removes the account's statements, then its users, and the stored key last. A bucket that is
// gone took its policy along.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	if err := u.checkStore(ctx, request); err != nil {
		return err
	}
	buckets, err := u.bucketsOf(ctx, request)
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		if err := u.editPolicy(ctx, bucket, dropAccount(request.Name)); err != nil && !apierror.Is(err, "NoSuchBucket") {
			return err
		}
	}
	return credentials.RevokeSupplied(ctx, u.Store, request.ID, keysOf{users: u}, nil)
}

// bucketsOf answers the buckets of the grant, as the store has them, and those of the request.
func (u *Users) bucketsOf(ctx context.Context, request account.Request) ([]string, error) {
	note, err := credentials.StoredNote(ctx, u.Store, request.ID, account.NoteBuckets)
	if err != nil {
		return nil, err
	}
	noted := strings.Fields(note)
	for _, bucket := range request.Buckets {
		noted = append(noted, bucket.Name)
	}
	slices.Sort(noted)
	return slices.Compact(noted), nil
}

// checkStore refuses an account with a user that the credential store does not know. The store knows
// every user before the gateway does, so it must be another store than the one that made the user.
func (u *Users) checkStore(ctx context.Context, request account.Request) error {
	names, err := u.list(ctx)
	if err != nil {
		return err
	}
	known, err := credentials.StoredIDs(ctx, u.Store, request.ID)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isUserOf(request.Name, name) && !slices.Contains(known, name) {
			return driverkit.FailedPrecondition("credential store lost: the key of user %s is not in the driver's credential store. "+
				"Restore that store. Or, to have the key replaced by a new one, remove the user with: versitygw admin delete-user --access %s", name, name)
		}
	}
	return nil
}

// isUserOf says whether the access key is one of the account's, which are named after it.
func isUserOf(accountName, key string) bool {
	const suffix = "-00000000"
	return strings.HasPrefix(key, accountName+"-") && len(key) == len(accountName)+len(suffix)
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

// list answers the access keys of all users.
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
			return fmt.Errorf("write the request %s: %w", operation, err)
		}
	}
	_, err := u.API.Call(ctx, adminapi.Request{Operation: operation, Method: http.MethodPatch, Path: "/" + operation, Query: query, Body: body})
	return err
}

// keysOf are the users of one account.
type keysOf struct {
	users   *Users
	request account.Request
}

// Make implements credentials.SuppliedKeys.
func (k keysOf) Make() credentials.Credential { return account.NewKey(k.request.Name) }

// Ensure implements credentials.SuppliedKeys.
func (k keysOf) Ensure(ctx context.Context, key credentials.Credential) error {
	err := k.users.call(ctx, "create-user", nil, xmlAccount{Access: key.ID, Secret: key.Secret.Reveal(), Role: roleUser})
	if !apierror.Is(err, codeUserExists) {
		return err
	}
	return k.users.call(ctx, "update-user", url.Values{"access": {key.ID}}, xmlProperties{Secret: key.Secret.Reveal()})
}

// Remove implements credentials.SuppliedKeys. The gateway refuses policies that name a user it does not have,
// so the name leaves the policies first.
func (k keysOf) Remove(ctx context.Context, id string) error {
	for _, bucket := range k.request.Buckets {
		if err := k.users.editPolicy(ctx, bucket.Name, dropPrincipal(id)); err != nil {
			return err
		}
	}
	err := k.users.call(ctx, "delete-user", url.Values{"access": {id}}, nil)
	if apierror.Is(err, codeUserNotFound) {
		return nil
	}
	return err
}

// Answers asks for the users.
func (u *Users) Answers(ctx context.Context) error {
	_, err := u.list(ctx)
	return err
}

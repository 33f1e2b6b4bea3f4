// SPDX-License-Identifier: Apache-2.0

// Package rgw manages accounts on the RADOS Gateway of Ceph. Each account is one user with one policy. The driver
// creates users through the gateway's admin operations API, and writes policies through the gateway's subset of the
// IAM API.
//
// A client with permission to read users can read their secret keys at any time, so the driver does not store the
// keys (docs/adr/0043).
package rgw

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// policyName is the name of a user's only policy.
const policyName = "cosi"

// Users manages the users of one gateway. All fields except Cluster are required.
type Users struct {
	// Admin is the client of the admin operations, with the driver's own credentials.
	Admin *adminapi.Client
	// IAM is the client for the policies of users.
	IAM *iam.Client
	// Driver and Cluster are written to the marks of every user.
	Driver, Cluster string
}

// dialect omits everything that the gateway does not support, because it would reject the whole policy. On the
// gateway, the writer of an object owns it and could read it with only the permission to write, so everything else is
// denied, action by action: the gateway ignores NotAction in a denial. For DeleteObjects the gateway checks the
// permission first on the bucket and then on each object. Sessions are denied as on AWS, because they outlive the key
// that requested them.
var dialect = policy.Dialect{
	Partition: "aws", NoSessions: true, DeletesAtBucket: true, Elsewhere: true,
	Without: []string{"s3:GetBucketOwnershipControls", "s3:GetEncryptionConfiguration", "s3:GetObjectAttributes"},
	Denied: []string{
		"s3:AbortMultipartUpload", "s3:BypassGovernanceRetention", "s3:DeleteObject", "s3:DeleteObjectTagging", "s3:DeleteObjectVersion",
		"s3:DeleteObjectVersionTagging", "s3:GetObject", "s3:GetObjectAcl", "s3:GetObjectLegalHold", "s3:GetObjectRetention", "s3:GetObjectTagging",
		"s3:GetObjectTorrent", "s3:GetObjectVersion", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging", "s3:GetObjectVersionTorrent",
		"s3:ListMultipartUploadParts", "s3:PutObject", "s3:PutObjectAcl", "s3:PutObjectLegalHold", "s3:PutObjectRetention", "s3:PutObjectTagging",
		"s3:PutObjectVersionAcl", "s3:PutObjectVersionTagging", "s3:RestoreObject",
	},
}

// Check returns an error if no policy can express the request. It makes no calls.
func (u *Users) Check(request account.Request) error {
	_, err := policy.Build(dialect, request.Buckets)
	return err
}

// user is the gateway's description of a user.
type user struct {
	ID          string `json:"user_id"`
	Tenant      string `json:"tenant"`
	DisplayName string `json:"display_name"`
	// Suspended is a number in some versions and a boolean in others.
	Suspended any   `json:"suspended"`
	Keys      []key `json:"keys"`
	// Account is set by newer versions (Squid).
	Account string `json:"account_id"`
}

type key struct {
	ID     string `json:"access_key"`
	Secret string `json:"secret_key"`
}

func (u user) suspended() bool { return u.Suspended == true || u.Suspended == float64(1) }

// readUser returns a user by its ID or its key, and reports whether it exists.
func (u *Users) readUser(ctx context.Context, by, value string) (found user, exists bool, err error) {
	answer, err := u.call(ctx, http.MethodGet, "GetUser", url.Values{by: {value}})
	if apierror.Is(err, "NoSuchUser") {
		return user{}, false, nil
	}
	if err != nil {
		return user{}, false, err
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return user{}, false, fmt.Errorf("read the user %s: %w", value, err)
	}
	return found, true, nil
}

// inTenant returns the full ID of a user in the same tenant: policies cannot apply to buckets of another tenant.
func (u user) inTenant(name string) string {
	if u.Tenant == "" {
		return name
	}
	return u.Tenant + "$" + name
}

// self returns the driver's own user.
func (u *Users) self(ctx context.Context) (user, error) {
	key, err := u.Admin.Credentials.Retrieve(ctx)
	if err != nil {
		return user{}, fmt.Errorf("find the driver's credentials: %w", err)
	}
	own, exists, err := u.readUser(ctx, "access-key", key.AccessKeyID)
	if err == nil && !exists {
		return user{}, driverkit.Unauthenticated("the driver's own user does not exist in the store; an administrator has to configure the credentials of an existing user")
	}
	return own, err
}

// Own reports whether the owner of a bucket is the driver's own user or, with newer versions, the account of that
// user.
func (u *Users) Own(ctx context.Context, owner string) (bool, error) {
	own, err := u.self(ctx)
	return err == nil && owner != "" && (owner == own.inTenant(own.ID) || owner == own.Account), err
}

// mark returns the display name of a user, which identifies its owner and the request that created it.
func (u *Users) mark(hash string) string { return u.owner() + hash }

func (u *Users) owner() string { return strings.Join([]string{"cosi", u.Driver, u.Cluster, ""}, ";") }

// checkOwner returns an error made by foreign if the user has another owner.
func (u *Users) checkOwner(id string, found user, foreign func(string, ...any) *driverkit.Error) error {
	// The name of a cluster may contain ';', but a hash does not.
	if hash, ours := strings.CutPrefix(found.DisplayName, u.owner()); !ours || strings.Contains(hash, ";") {
		return foreign("user %s already exists and was not created by this driver; the driver does not change it", id)
	}
	return nil
}

// marked returns the request with the owner and hash for the marks of keys.
func (u *Users) marked(request account.Request) credentials.MarkedRequest {
	return credentials.MarkedRequest{
		Request: credentials.Request{Account: request.ID, Rotation: request.Rotation}, Owner: u.owner(), Hash: request.Hash,
	}
}

func (u *Users) call(ctx context.Context, method, operation string, query url.Values) ([]byte, error) {
	return u.Admin.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: "/admin/user", Query: query})
}

// Ping reads the driver's own user.
func (u *Users) Ping(ctx context.Context) error {
	_, err := u.self(ctx)
	return err
}

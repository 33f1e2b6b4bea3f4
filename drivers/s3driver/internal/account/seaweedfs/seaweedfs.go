// SPDX-License-Identifier: Apache-2.0

// Package seaweedfs manages accounts on SeaweedFS through its subset of the IAM API. Each account is one user with one
// managed policy of the same name.
//
// The policy carries the mark of the account, because CreateUser ignores tags, and TagUser is a separate call that
// rewrites all users of the store. Inline policies of all users are in one file, which several gateways would overwrite;
// each managed policy has its own file.
package seaweedfs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// missing is the name of an account that never exists.
const missing = "cosi-nobody"

// onlyVersion is the version of every managed policy: SeaweedFS keeps no others.
const onlyVersion = "v1"

// Users manages the users of one store. All fields except Cluster are required.
type Users struct {
	// API is the client of the IAM API, with the driver's own credentials.
	API *iam.Client
	// Store stores the access keys.
	Store credentials.Store
	// Driver and Cluster are written to the marks of every policy.
	Driver, Cluster string
}

// dialect omits the actions that SeaweedFS rejects when a policy is updated.
func dialect(mark string) policy.Dialect {
	return policy.Dialect{
		Partition: "aws", Mark: mark,
		Without: []string{
			"s3:GetBucketCORS", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock", "s3:GetEncryptionConfiguration",
			"s3:GetLifecycleConfiguration",
		},
	}
}

// Check returns an error if no policy can express the request. It makes no calls.
func (u *Users) Check(request account.Request) error {
	_, err := policy.Build(dialect(""), request.Buckets)
	return err
}

// owner returns the prefix of the marks of this driver, which the ID of the credential store and the hash of the
// request follow.
func (u *Users) owner() string { return "cosi;" + u.Driver + ";" + u.Cluster + ";" }

// existing is the policy of an account, or empty if there is none.
type existing struct {
	// hash is the hash of the request that created the account.
	hash, document string
}

// checkOwner returns the account's policy. If the account has another owner, it returns an error made by foreign. It
// also returns an error if the user's keys are in another credential store.
func (u *Users) checkOwner(ctx context.Context, name, storeID string, foreign func(string, ...any) *driverkit.Error) (existing, error) {
	found, exists, err := u.readPolicy(ctx, name)
	if err != nil {
		return existing{}, err
	}
	if !exists { // the driver's users have a policy for as long as they exist
		if exists, err = u.userExists(ctx, name); err != nil || !exists {
			return existing{}, err
		}
	}
	rest, ours := strings.CutPrefix(markOf(found), u.owner())
	otherStore, hash, whole := strings.Cut(rest, ";")
	switch {
	case !ours || !whole || strings.Contains(hash, ";"): // the name of a cluster may contain ';'
		return existing{}, foreign("user %s has no policy with this driver's mark; the driver does not change the user", name)
	case otherStore != storeID:
		return existing{}, driverkit.FailedPrecondition("credential store lost: the keys of user %s are in the credential store %q, but this driver has %q. "+
			"Restore that store. Or, to replace its keys with new ones, delete the user and the policy with this name", name, otherStore, storeID)
	}
	return existing{hash, found}, nil
}

func (u *Users) userExists(ctx context.Context, name string) (bool, error) {
	_, err := u.API.GetUser(ctx, &iam.GetUserInput{UserName: &name})
	return err == nil, unlessMissing(err)
}

// readPolicy returns the document of the account's policy and reports whether it exists.
func (u *Users) readPolicy(ctx context.Context, name string) (string, bool, error) {
	out, err := u.API.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: arnOf(name), VersionId: aws.String(onlyVersion)})
	if err != nil {
		return "", false, unlessMissing(err)
	}
	if out.PolicyVersion == nil {
		return "", false, fmt.Errorf("read the policy %s: the response has none", name)
	}
	document := aws.ToString(out.PolicyVersion.Document)
	if !strings.HasPrefix(document, "{") { // AWS returns it URL-encoded, SeaweedFS does not
		if document, err = url.QueryUnescape(document); err != nil {
			return "", false, fmt.Errorf("read the policy %s: %w", name, err)
		}
	}
	return document, true, nil
}

// markOf returns the mark in a policy, or "" if there is none.
func markOf(document string) string {
	var marked struct {
		Statement []struct {
			ID string `json:"Sid"`
		} `json:"Statement"`
	}
	if json.Unmarshal([]byte(document), &marked) != nil || len(marked.Statement) == 0 {
		return ""
	}
	return marked.Statement[0].ID
}

// arnOf returns the ARN of the account's policy. SeaweedFS evaluates only the name in it.
func arnOf(name string) *string { return aws.String("arn:aws:iam::000000000000:policy/" + name) }

func unlessMissing(err error) error {
	if apierror.Is(err, "NoSuchEntity") {
		return nil
	}
	return err
}

// Ping reads a user that does not exist.
func (u *Users) Ping(ctx context.Context) error {
	_, err := u.userExists(ctx, missing)
	return err
}

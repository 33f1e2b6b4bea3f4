// SPDX-License-Identifier: Apache-2.0

// Package iamuser manages accounts as IAM users: one user per account, with one policy and at most two access keys.
// It works with AWS and with stores that serve the same API.
package iamuser

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// policyName is the name of the inline policy, which the driver manages exclusively.
const policyName = "cosi"

// missing is the name of an account that never exists.
const missing = "cosi-nobody"

// Names of the tags that mark a user as the driver's.
const (
	tagDriver  = "cosi-driver"
	tagCluster = "cosi-cluster"
	tagStore   = "cosi-store"
	tagParams  = "cosi-params"
)

// Users manages the users of one store. All fields except Cluster, Boundary and ReadLag are required.
type Users struct {
	// API is the client, with the driver's own credentials.
	API *iam.Client
	// Store stores the access keys.
	Store credentials.Store
	// Driver and Cluster are written to the marks of every user.
	Driver, Cluster string
	// Path is the IAM path of the users.
	Path string
	// Boundary is the ARN of the permissions boundary of every user, or empty for none.
	Boundary string
	// Partition is the second part of ARNs.
	Partition string
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// Check returns InvalidArgument if no policy can express the request. It makes no calls.
func (u *Users) Check(request account.Request) error {
	_, err := u.document(request)
	return err
}

// user is the relevant state of an IAM user.
type user struct {
	arn  string
	tags map[string]string
	// isNew means that this call created the user, so it has no keys or policies yet.
	isNew bool
}

// findUser is readUser with repeated reads while the user is missing.
func (u *Users) findUser(ctx context.Context, name string) (user, bool, error) {
	return driverkit.Find(ctx, u.ReadLag, func(ctx context.Context) (user, bool, error) { return u.readUser(ctx, name) })
}

// readUser returns a user and reports whether it exists.
func (u *Users) readUser(ctx context.Context, name string) (user, bool, error) {
	out, err := u.API.GetUser(ctx, &iam.GetUserInput{UserName: &name})
	if apierror.Is(err, "NoSuchEntity") {
		return user{}, false, nil
	}
	if err != nil {
		return user{}, false, err
	}
	found := user{arn: aws.ToString(out.User.Arn), tags: map[string]string{}}
	for _, tag := range out.User.Tags {
		found.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return found, true, nil
}

// checkOwner returns an error for users of other owners and for users whose keys are in another credential store. In
// the latter case the driver could not distinguish live keys from keys that were never delivered.
func (u *Users) checkOwner(name string, found user, storeID string) error {
	if found.tags[tagDriver] != u.Driver || found.tags[tagCluster] != u.Cluster {
		return driverkit.AlreadyExists("user %s already exists and was not created by this driver; the driver does not change it", name)
	}
	if found.tags[tagStore] != storeID {
		return driverkit.FailedPrecondition("credential store lost: the keys of user %s are in the credential store %q, but this driver has %q. "+
			"Restore that store. Or, to replace the keys with new ones, run: aws iam tag-user --user-name %s --tags Key=%s,Value=%s",
			name, found.tags[tagStore], storeID, name, tagStore, storeID)
	}
	return nil
}

func unlessMissing(err error) error {
	if apierror.Is(err, "NoSuchEntity") {
		return nil
	}
	return err
}

// unlessUnknown ignores errors of calls that a compatible store does not support.
func unlessUnknown(err error) error {
	if apierror.Unsupported(err) {
		return nil
	}
	return unlessMissing(err)
}

// Ping reads a user that does not exist.
func (u *Users) Ping(ctx context.Context) error {
	_, _, err := u.readUser(ctx, missing)
	return err
}

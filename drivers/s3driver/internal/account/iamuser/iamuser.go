// SPDX-License-Identifier: Apache-2.0

// Package iamuser manages accounts as IAM users: one user an account, with one policy and at most
// two access keys. It works with AWS and with stores that serve the same API.
package iamuser

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// policyName is the name of the inline policy, which the driver owns whole.
const policyName = "cosi"

// nobody is a name that no account gets.
const nobody = "cosi-nobody"

// Names of the tags that mark a user as ours.
const (
	tagDriver  = "cosi-driver"
	tagCluster = "cosi-cluster"
	tagStore   = "cosi-store"
	tagParams  = "cosi-params"
)

// Users manages the users of one store. All fields but Cluster and Boundary are required.
type Users struct {
	// API is the client, with the driver's own credentials.
	API *iam.Client
	// Store keeps the access keys.
	Store credentials.Store
	// Driver and Cluster are marked on every user.
	Driver, Cluster string
	// Path groups the users.
	Path string
	// Boundary is the ARN of the permissions boundary of every user; empty for none.
	Boundary string
	// Partition is the second part of ARNs.
	Partition string
}

// Check answers InvalidArgument if no policy can express the request. It makes no calls.
func (u *Users) Check(request account.Request) error {
	_, err := u.document(request)
	return err
}

// Grant makes sure that the user exists with exactly the requested access, and answers its key: the
// same one on every repeat. Every step can be repeated after a failure at any point.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	document, err := u.document(request)
	if err != nil {
		return credentials.Credential{}, err
	}
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.Credential{}, credentials.StoreError(request.ID, err)
	}
	found, err := u.ensureUser(ctx, request, storeID)
	if err != nil {
		return credentials.Credential{}, err
	}
	if err := u.putPolicy(ctx, request.Name, found, document); err != nil {
		return credentials.Credential{}, err
	}
	asked := credentials.Request{Account: request.ID, Rotation: request.Rotation}
	return credentials.GrantShownOnce(ctx, u.Store, asked, keysOf{u.API, request.Name})
}

// user is what matters of an existing IAM user.
type user struct {
	arn  string
	tags map[string]string
	// isNew says that it was made by this call, and has nothing yet.
	isNew bool
}

// ensureUser makes the user with its marks, or checks the marks of the one that exists.
func (u *Users) ensureUser(ctx context.Context, request account.Request, storeID string) (user, error) {
	found, exists, err := u.readUser(ctx, request.Name)
	if err == nil && !exists {
		found, err = u.createUser(ctx, request, storeID)
		if apierror.Is(err, "EntityAlreadyExists") {
			found, _, err = u.readUser(ctx, request.Name)
		}
	}
	if err != nil {
		return user{}, err
	}
	if err := u.checkOwner(request.Name, found, storeID); err != nil {
		return user{}, err
	}
	if found.tags[tagParams] != request.Hash {
		return user{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than these", request.ID)
	}
	return found, nil
}

func (u *Users) createUser(ctx context.Context, request account.Request, storeID string) (user, error) {
	tags := map[string]string{tagDriver: u.Driver, tagStore: storeID, tagParams: request.Hash}
	if u.Cluster != "" {
		tags[tagCluster] = u.Cluster
	}
	input := &iam.CreateUserInput{UserName: &request.Name, Path: &u.Path}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		input.Tags = append(input.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	if u.Boundary != "" {
		input.PermissionsBoundary = &u.Boundary
	}
	out, err := u.API.CreateUser(ctx, input)
	if err != nil {
		return user{}, err
	}
	return user{arn: aws.ToString(out.User.Arn), tags: tags, isNew: true}, nil
}

// readUser answers a user, and whether it exists.
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

// checkOwner refuses users of somebody else, and users whose keys are in another credential store:
// with their keys unknown, live ones would look like keys that were never delivered.
func (u *Users) checkOwner(name string, found user, storeID string) error {
	if found.tags[tagDriver] != u.Driver || found.tags[tagCluster] != u.Cluster {
		return driverkit.AlreadyExists("user %s exists and was not made by this driver; it is left alone", name)
	}
	if found.tags[tagStore] != storeID {
		return driverkit.FailedPrecondition("credential store lost: the keys of user %s are in the credential store %q, but this driver has %q. "+
			"Restore that store. Or, to have its keys replaced by new ones, run: aws iam tag-user --user-name %s --tags Key=%s,Value=%s",
			name, found.tags[tagStore], storeID, name, tagStore, storeID)
	}
	return nil
}

// keysOf are the access keys of one user.
type keysOf struct {
	api  *iam.Client
	user string
}

// List implements credentials.ShownOnceKeys.
func (k keysOf) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	var keys []credentials.ShownOnceKey
	pages := iam.NewListAccessKeysPaginator(k.api, &iam.ListAccessKeysInput{UserName: &k.user})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, key := range page.AccessKeyMetadata {
			keys = append(keys, credentials.ShownOnceKey{ID: aws.ToString(key.AccessKeyId), Active: key.Status == types.StatusTypeActive})
		}
	}
	return keys, nil
}

// Create implements credentials.ShownOnceKeys. The client's own retries are off: after a lost answer they would
// make a second key.
func (k keysOf) Create(ctx context.Context) (credentials.Credential, error) {
	out, err := k.api.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: &k.user}, func(o *iam.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		return credentials.Credential{}, err
	}
	return credentials.Credential{ID: aws.ToString(out.AccessKey.AccessKeyId), Secret: cosi.NewSecret(aws.ToString(out.AccessKey.SecretAccessKey))}, nil
}

// Delete implements credentials.ShownOnceKeys.
func (k keysOf) Delete(ctx context.Context, id string) error {
	_, err := k.api.DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{UserName: &k.user, AccessKeyId: &id})
	return unlessMissing(err)
}

func unlessMissing(err error) error {
	if apierror.Is(err, "NoSuchEntity") {
		return nil
	}
	return err
}

// unlessUnknown passes over calls that a compatible store does not have.
func unlessUnknown(err error) error {
	if apierror.Unsupported(err) {
		return nil
	}
	return unlessMissing(err)
}

// Answers asks for a user that is not there.
func (u *Users) Answers(ctx context.Context) error {
	_, _, err := u.readUser(ctx, nobody)
	return err
}

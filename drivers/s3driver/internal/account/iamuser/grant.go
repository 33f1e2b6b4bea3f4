// SPDX-License-Identifier: Apache-2.0

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
)

// Grant ensures that the user exists with exactly the requested access, and returns its key. Repeated calls return
// the same key. Every step can be repeated after a failure at any point.
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
	var held []string // the keys before another process may revoke the account
	if !found.isNew {
		if held, err = credentials.StoredIDs(ctx, u.Store, request.ID); err != nil {
			return credentials.Credential{}, err
		}
	}
	err = u.putPolicy(ctx, request.Name, found, document)
	if apierror.Is(err, "NoSuchEntity") && !found.isNew {
		if found, err = u.replaceUser(ctx, request, storeID, held); err == nil {
			err = u.putPolicy(ctx, request.Name, found, document)
		}
	}
	if err != nil {
		return credentials.Credential{}, err
	}
	asked := credentials.Request{Account: request.ID, Rotation: request.Rotation, New: found.isNew}
	return credentials.GrantShownOnce(ctx, u.Store, asked, Keys{u.API, request.Name})
}

// ensureUser creates the user with its marks, or checks the marks of the existing one.
func (u *Users) ensureUser(ctx context.Context, request account.Request, storeID string) (user, error) {
	found, exists, err := u.readUser(ctx, request.Name)
	if err == nil && !exists {
		found, err = u.createUser(ctx, request, storeID)
		if apierror.Is(err, "EntityAlreadyExists") {
			if found, exists, err = u.findUser(ctx, request.Name); err == nil && !exists {
				return user{}, driverkit.Unavailable("user %s has not propagated yet; the driver tries again", request.Name)
			}
		}
	}
	if err != nil {
		return user{}, err
	}
	if err := u.checkOwner(request.Name, found, storeID); err != nil {
		return user{}, err
	}
	if found.tags[tagParams] != request.Hash {
		return user{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.ID)
	}
	return found, nil
}

// replaceUser recreates a user that was read earlier in this call and is missing now. The user was removed manually,
// or the read was stale. If the store held keys of the user and no longer does, another process has revoked the
// account in the meantime.
func (u *Users) replaceUser(ctx context.Context, request account.Request, storeID string, held []string) (user, error) {
	ids, err := credentials.StoredIDs(ctx, u.Store, request.ID)
	if err != nil {
		return user{}, err
	}
	if len(held) > 0 && len(ids) == 0 {
		return user{}, driverkit.Aborted("user %s was removed during this call; the driver tries again", request.Name)
	}
	return u.createUser(ctx, request, storeID)
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
	if _, err := u.API.CreateUser(ctx, input); err != nil {
		return user{}, err
	}
	return u.readBack(ctx, request.Name)
}

// readBack reads the user that was just created. If the store did not keep its marks, readBack deletes the user,
// because nothing could revoke its keys.
func (u *Users) readBack(ctx context.Context, name string) (user, error) {
	made, exists, err := u.findUser(ctx, name)
	switch {
	case err != nil:
		return user{}, err
	case !exists:
		return user{}, driverkit.Unavailable("the store does not show user %s yet; the driver tries again", name)
	case len(made.tags) > 0:
		made.isNew = true
		return made, nil
	}
	if _, err := u.API.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &name}); err != nil {
		return user{}, err
	}
	return user{}, account.ForgetsTags("users")
}

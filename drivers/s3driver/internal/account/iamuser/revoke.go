// SPDX-License-Identifier: Apache-2.0

package iamuser

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke ensures that the user, its keys and its policies do not exist. It deletes the keys first, so the access ends
// even if a later step fails. It deletes the stored credential last, so a repeated Revoke still has all information.
// It deletes the driver's own policies by name. It lists everything that an administrator added, such as policies and
// group memberships, and removes it, because it prevents the deletion of the user.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	found, exists, err := u.findUser(ctx, request.Name)
	if err != nil {
		return err
	}
	keys := &revocable{Keys: Keys{u.API, request.Name}, exists: exists}
	rest := func(ctx context.Context) error {
		if keys.deleted {
			return driverkit.Unavailable("user %s has a key, but reads do not return the user yet; the driver tries again", request.Name)
		}
		return u.deleteStrayPolicies(ctx, request.Name)
	}
	if exists {
		if err := u.checkRevocable(ctx, request.Name, found); err != nil {
			return err
		}
		rest = func(ctx context.Context) error { return u.removeUser(ctx, request.Name, found) }
	}
	return driverkit.Repeat(ctx, u.ReadLag, apierror.InUse, func(ctx context.Context) error {
		return credentials.RevokeShownOnce(ctx, u.Store, request.ID, keys, rest)
	})
}

// revocable manages the keys of a user that may not exist or may have been deleted.
type revocable struct {
	Keys

	exists bool
	// deleted reports whether a key was deleted.
	deleted bool
}

// List implements credentials.ShownOnceKeys.
func (r *revocable) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	if !r.exists {
		return nil, nil
	}
	return r.Keys.List(ctx)
}

// Delete implements credentials.ShownOnceKeys.
func (r *revocable) Delete(ctx context.Context, id string) error {
	err := r.Keys.remove(ctx, id)
	r.deleted = r.deleted || err == nil
	return unlessMissing(err)
}

func (u *Users) checkRevocable(ctx context.Context, name string, found user) error {
	if found.tags[tagDriver] != u.Driver || found.tags[tagCluster] != u.Cluster {
		return driverkit.FailedPrecondition("user %s does not have this driver's ownership mark, so the driver does not delete it; delete it manually if it is unused", name)
	}
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(name, err)
	}
	return u.checkOwner(name, found, storeID)
}

func (u *Users) removeUser(ctx context.Context, name string, found user) error {
	if err := u.dropInlinePolicy(ctx, name, policyName); err != nil {
		return err
	}
	if err := u.dropManagedPolicy(ctx, name, u.policyARN(name, found)); err != nil {
		return err
	}
	steps := []func(context.Context, string) error{
		u.removeInlinePolicies, u.detachPolicies, u.leaveGroups,
	}
	for _, step := range steps {
		if err := step(ctx, name); err != nil {
			return err
		}
	}
	_, err := u.API.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &name})
	return unlessMissing(err)
}

func (u *Users) removeInlinePolicies(ctx context.Context, name string) error {
	pages := iam.NewListUserPoliciesPaginator(u.API, &iam.ListUserPoliciesInput{UserName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return unlessMissing(err)
		}
		for _, inline := range page.PolicyNames {
			if err := u.dropInlinePolicy(ctx, name, inline); err != nil {
				return err
			}
		}
	}
	return nil
}

// detachPolicies detaches policies that an administrator attached, because they prevent the deletion of the user.
func (u *Users) detachPolicies(ctx context.Context, name string) error {
	pages := iam.NewListAttachedUserPoliciesPaginator(u.API, &iam.ListAttachedUserPoliciesInput{UserName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return unlessUnknown(err)
		}
		for _, attached := range page.AttachedPolicies {
			_, err := u.API.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: attached.PolicyArn})
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *Users) leaveGroups(ctx context.Context, name string) error {
	pages := iam.NewListGroupsForUserPaginator(u.API, &iam.ListGroupsForUserInput{UserName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return unlessUnknown(err)
		}
		for _, group := range page.Groups {
			_, err := u.API.RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{UserName: &name, GroupName: group.GroupName})
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
	}
	return nil
}

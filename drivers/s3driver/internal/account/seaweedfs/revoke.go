// SPDX-License-Identifier: Apache-2.0

package seaweedfs

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/iamuser"
)

// Revoke ensures that the user, its keys and its policy do not exist. It detaches the policy first: by default, a user
// may create further keys for itself, and a key without a policy allows nothing. It deletes the policy, which carries
// the mark, after the user, and the stored credential last.
func (u *Users) Revoke(ctx context.Context, request account.Request) error {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	found, err := u.checkOwner(ctx, request.Name, storeID, driverkit.FailedPrecondition)
	if err != nil {
		return err
	}
	if found.document != "" {
		_, err := u.API.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: &request.Name, PolicyArn: arnOf(request.Name)})
		if unlessMissing(err) != nil {
			return err
		}
	}
	return credentials.RevokeShownOnce(ctx, u.Store, request.ID, iamuser.Keys{API: u.API, User: request.Name}, func(ctx context.Context) error {
		_, err := u.API.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &request.Name})
		if unlessMissing(err) != nil {
			return err
		}
		return u.deletePolicy(ctx, request.Name)
	})
}

func (u *Users) deletePolicy(ctx context.Context, name string) error {
	_, err := u.API.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: arnOf(name)})
	return unlessMissing(err)
}

// SPDX-License-Identifier: Apache-2.0

package seaweedfs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/iamuser"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Grant ensures that the account's policy and user exist, and returns the user's key. It creates the policy before the
// user, so the mark exists for as long as the user does.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	storeID, err := u.Store.ID(ctx)
	if err != nil {
		return credentials.Credential{}, credentials.StoreError(request.ID, err)
	}
	document, err := policy.Build(dialect(u.owner()+storeID+";"+request.Hash), request.Buckets)
	if err != nil {
		return credentials.Credential{}, err
	}
	found, err := u.checkOwner(ctx, request.Name, storeID, driverkit.AlreadyExists)
	if err != nil {
		return credentials.Credential{}, err
	}
	if found.hash != "" && found.hash != request.Hash {
		return credentials.Credential{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.ID)
	}
	if err := u.putPolicy(ctx, request.Name, document, found.document); err != nil {
		return credentials.Credential{}, err
	}
	isNew, err := u.ensureUser(ctx, request.Name)
	if err != nil {
		return credentials.Credential{}, err
	}
	asked := credentials.Request{Account: request.ID, Rotation: request.Rotation, New: isNew}
	return credentials.GrantShownOnce(ctx, u.Store, asked, iamuser.Keys{API: u.API, User: request.Name})
}

// putPolicy ensures that the account's policy is this document. found is the current one, or empty.
func (u *Users) putPolicy(ctx context.Context, name, document, found string) error {
	switch {
	case found == "":
		if _, err := u.API.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: &name, PolicyDocument: &document}); err != nil {
			return unlessRaced(name, err)
		}
		return u.readBack(ctx, name, document)
	case policy.Same([]byte(found), []byte(document)):
		return nil
	}
	_, err := u.API.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: arnOf(name), PolicyDocument: &document, SetAsDefault: true})
	return err
}

// readBack reads the policy that was just created. If the store did not keep it as it is, readBack deletes it, because
// the account would have no mark, or more permissions than requested.
func (u *Users) readBack(ctx context.Context, name, document string) error {
	found, exists, err := u.readPolicy(ctx, name)
	if err != nil || exists && policy.Same([]byte(found), []byte(document)) {
		return err
	}
	if err := u.deletePolicy(ctx, name); err != nil {
		return err
	}
	return driverkit.FailedPrecondition("the store does not keep policies as they are, so the driver cannot mark its accounts; an administrator has to upgrade SeaweedFS")
}

// ensureUser ensures that the user exists with its policy, and reports whether this call created the user.
func (u *Users) ensureUser(ctx context.Context, name string) (bool, error) {
	out, err := u.API.ListAttachedUserPolicies(ctx, &iam.ListAttachedUserPoliciesInput{UserName: &name})
	isNew := apierror.Is(err, "NoSuchEntity")
	switch {
	case isNew:
		if _, err := u.API.CreateUser(ctx, &iam.CreateUserInput{UserName: &name}); err != nil {
			return false, unlessRaced(name, err)
		}
	case err != nil:
		return false, err
	case slices.ContainsFunc(out.AttachedPolicies, func(p types.AttachedPolicy) bool { return aws.ToString(p.PolicyName) == name }):
		return false, nil
	}
	_, err = u.API.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{UserName: &name, PolicyArn: arnOf(name)})
	if isNew && apierror.Is(err, "NoSuchEntity") {
		// A revoke by another process has deleted the policy, so the new user would have no mark.
		_, err := u.API.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &name})
		if unlessMissing(err) != nil {
			return false, err
		}
		return false, driverkit.Aborted("account %s was deleted by another process during this call; the driver tries again", name)
	}
	return isNew, err
}

// unlessRaced returns a retryable error if another process has created the user or its policy during this call.
func unlessRaced(name string, err error) error {
	if apierror.Is(err, "EntityAlreadyExists") {
		return driverkit.Aborted("account %s was created by another process during this call; the driver tries again", name)
	}
	return err
}

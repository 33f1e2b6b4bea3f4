// SPDX-License-Identifier: Apache-2.0

package iamuser

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Limits of IAM, in characters without white space.
const (
	// maxInlinePolicy is for all inline policies of a user together.
	maxInlinePolicy = 2048
	// maxManagedPolicy is for one managed policy.
	maxManagedPolicy = 6144
	// maxVersions is how many versions a managed policy can have.
	maxVersions = 5
)

// document returns the policy of the request, or InvalidArgument if it is too large for IAM.
func (u *Users) document(request account.Request) (string, error) {
	document, err := policy.Build(policy.Dialect{Partition: u.Partition, Account: request.AWSAccount, NoSessions: true}, request.Buckets)
	if err != nil {
		return "", err
	}
	if len(document) > maxManagedPolicy {
		return "", driverkit.InvalidArgument("the policy for %d buckets has %d characters, more than the %d that IAM takes; ask for fewer buckets in one access",
			len(request.Buckets), len(document), maxManagedPolicy)
	}
	return document, nil
}

// putPolicy gives the user exactly this policy: inline while it is small enough, managed otherwise. The other kind goes:
// it is of a time when the policy had another size, and may allow the use of a key that a bucket has no more. What is so
// already is not written again: IAM takes few calls, and a write takes a while to reach all of AWS.
func (u *Users) putPolicy(ctx context.Context, name string, found user, document string) error {
	has, err := u.readPolicies(ctx, name, found)
	if err != nil {
		return err
	}
	inline := len(document) <= maxInlinePolicy
	switch {
	case inline && has.inline != document:
		_, err = u.API.PutUserPolicy(ctx, &iam.PutUserPolicyInput{UserName: &name, PolicyName: aws.String(policyName), PolicyDocument: &document})
	case !inline && has.managed:
		err = u.updateManagedPolicy(ctx, u.policyARN(name, found), document)
	case !inline:
		err = u.putManagedPolicy(ctx, name, found, document)
	}
	switch {
	case err != nil:
		return err
	case inline && has.managed:
		return u.dropManagedPolicy(ctx, name, u.policyARN(name, found))
	case !inline && has.inline != "":
		_, err = u.API.DeleteUserPolicy(ctx, &iam.DeleteUserPolicyInput{UserName: &name, PolicyName: aws.String(policyName)})
		return unlessMissing(err)
	}
	return nil
}

// policies are those of a user that are the driver's.
type policies struct {
	// inline is the document, empty without one.
	inline string
	// managed says that the managed policy is attached.
	managed bool
}

func (u *Users) readPolicies(ctx context.Context, name string, found user) (policies, error) {
	var has policies
	if found.isNew {
		return has, nil
	}
	out, err := u.API.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &name, PolicyName: aws.String(policyName)})
	if unlessUnknown(err) != nil {
		return has, err
	}
	if err == nil {
		if has.inline, err = url.QueryUnescape(aws.ToString(out.PolicyDocument)); err != nil {
			return has, fmt.Errorf("read the policy of user %s: %w", name, err)
		}
	}
	pages := iam.NewListAttachedUserPoliciesPaginator(u.API, &iam.ListAttachedUserPoliciesInput{UserName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return has, unlessUnknown(err)
		}
		has.managed = has.managed || slices.ContainsFunc(page.AttachedPolicies, func(p types.AttachedPolicy) bool { return u.isOurs(aws.ToString(p.PolicyArn), name) })
	}
	return has, nil
}

// dropManagedPolicy removes the user's own managed policy, if it has one. What an interrupted call has left of it is
// attached to nobody, and goes with the user.
func (u *Users) dropManagedPolicy(ctx context.Context, name, arn string) error {
	_, err := u.API.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: &arn})
	if err != nil {
		return unlessUnknown(err)
	}
	return u.deleteManagedPolicy(ctx, arn)
}

func (u *Users) putManagedPolicy(ctx context.Context, name string, found user, document string) error {
	_, err := u.API.CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: &name, Path: aws.String(u.policyPath(name)), PolicyDocument: &document,
		Tags: []types.Tag{{Key: aws.String(tagDriver), Value: &u.Driver}},
	})
	arn := u.policyARN(name, found)
	if apierror.Is(err, "EntityAlreadyExists") {
		err = u.updateManagedPolicy(ctx, arn, document)
	}
	if err != nil {
		return err
	}
	_, err = u.API.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{UserName: &name, PolicyArn: &arn})
	return err
}

// updateManagedPolicy makes document the default version, if it is not.
func (u *Users) updateManagedPolicy(ctx context.Context, arn, document string) error {
	out, err := u.API.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: &arn})
	if err != nil {
		return err
	}
	isDefault := func(v types.PolicyVersion) bool { return v.IsDefaultVersion }
	if i := slices.IndexFunc(out.Versions, isDefault); i >= 0 {
		current, err := u.API.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: &arn, VersionId: out.Versions[i].VersionId})
		if err != nil {
			return err
		}
		if text, err := url.QueryUnescape(aws.ToString(current.PolicyVersion.Document)); err == nil && text == document {
			return nil
		}
	}
	if old := slices.DeleteFunc(out.Versions, isDefault); len(old) >= maxVersions-1 {
		if err := u.deleteVersion(ctx, arn, oldest(old)); err != nil {
			return err
		}
	}
	_, err = u.API.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &arn, PolicyDocument: &document, SetAsDefault: true})
	return err
}

func oldest(versions []types.PolicyVersion) types.PolicyVersion {
	return slices.MinFunc(versions, func(a, b types.PolicyVersion) int {
		return aws.ToTime(a.CreateDate).Compare(aws.ToTime(b.CreateDate))
	})
}

func (u *Users) deleteVersion(ctx context.Context, arn string, version types.PolicyVersion) error {
	_, err := u.API.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: &arn, VersionId: version.VersionId})
	return unlessMissing(err)
}

// deleteManagedPolicy removes a policy that nothing is attached to any more.
func (u *Users) deleteManagedPolicy(ctx context.Context, arn string) error {
	out, err := u.API.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: &arn})
	if err != nil {
		return unlessMissing(err)
	}
	for _, version := range out.Versions {
		if version.IsDefaultVersion {
			continue
		}
		if err := u.deleteVersion(ctx, arn, version); err != nil {
			return err
		}
	}
	_, err = u.API.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &arn})
	return unlessMissing(err)
}

// deleteStrayPolicies removes the managed policy of a user that was removed by hand. Nothing else is
// below its path.
func (u *Users) deleteStrayPolicies(ctx context.Context, name string) error {
	pages := iam.NewListPoliciesPaginator(u.API, &iam.ListPoliciesInput{
		PathPrefix: aws.String(u.policyPath(name)), Scope: types.PolicyScopeTypeLocal,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return unlessUnknown(err)
		}
		for _, stray := range page.Policies {
			if err := u.deleteManagedPolicy(ctx, aws.ToString(stray.Arn)); err != nil {
				return err
			}
		}
	}
	return nil
}

// policyPath is a path of each user's own, so that its policy is found without knowing the number of
// the AWS account.
func (u *Users) policyPath(name string) string { return u.Path + name + "/" }

// policyARN is the ARN of the user's managed policy. It has the AWS account of the user.
func (u *Users) policyARN(name string, found user) string {
	awsAccount := ""
	if parts := strings.Split(found.arn, ":"); len(parts) > 4 {
		awsAccount = parts[4]
	}
	return "arn:" + u.Partition + ":iam::" + awsAccount + ":policy" + u.policyPath(name) + name
}

// isOurs reports whether the ARN is that of the user's own managed policy.
func (u *Users) isOurs(arn, name string) bool {
	return strings.HasSuffix(arn, ":policy"+u.policyPath(name)+name)
}

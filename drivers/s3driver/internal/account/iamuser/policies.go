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
	// maxInlinePolicy applies to all inline policies of a user together.
	maxInlinePolicy = 2048
	// maxManagedPolicy applies to one managed policy.
	maxManagedPolicy = 6144
	// maxVersions is the maximum number of versions of a managed policy.
	maxVersions = 5
)

// document returns the policy of the request, or InvalidArgument if it is too large for IAM.
func (u *Users) document(request account.Request) (string, error) {
	document, err := policy.Build(policy.Dialect{Partition: u.Partition, Account: request.AWSAccount, NoSessions: true}, request.Buckets)
	if err != nil {
		return "", err
	}
	if len(document) > maxManagedPolicy {
		return "", driverkit.InvalidArgument("the policy for %d buckets has %d characters, more than IAM's maximum of %d; request fewer buckets in one access",
			len(request.Buckets), len(document), maxManagedPolicy)
	}
	return document, nil
}

// putPolicy gives the user exactly this policy: inline if it is small enough, managed otherwise. The other kind is
// removed: it dates from when the policy had another size, and may allow the use of a key that a bucket no longer
// has. A policy that is already correct is not written again, because IAM limits the rate of calls and a write takes
// a while to propagate through AWS. A stale read may show an old policy, so a policy counts as correct only if
// repeated reads agree.
func (u *Users) putPolicy(ctx context.Context, name string, found user, document string) error {
	if !found.isNew {
		_, differs, err := driverkit.Find(ctx, u.ReadLag, func(ctx context.Context) (struct{}, bool, error) {
			is, err := u.hasPolicy(ctx, name, found, document)
			return struct{}{}, !is, err
		})
		if err != nil || !differs {
			return err
		}
	}
	var err error
	if inline(document) {
		_, err = u.API.PutUserPolicy(ctx, &iam.PutUserPolicyInput{UserName: &name, PolicyName: aws.String(policyName), PolicyDocument: &document})
	} else {
		err = u.putManagedPolicy(ctx, name, found, document)
	}
	switch {
	case err != nil || found.isNew:
		return err
	case inline(document):
		return u.dropManagedPolicy(ctx, name, u.policyARN(name, found))
	default:
		return u.dropInlinePolicy(ctx, name, policyName)
	}
}

func inline(document string) bool { return len(document) <= maxInlinePolicy }

// hasPolicy reports whether the user has this policy and none of the other kind.
func (u *Users) hasPolicy(ctx context.Context, name string, found user, document string) (bool, error) {
	out, err := u.API.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &name, PolicyName: aws.String(policyName)})
	switch {
	case unlessUnknown(err) != nil:
		return false, err
	case inline(document) != (err == nil):
		return false, nil
	case err == nil:
		if text, err := decode(out.PolicyDocument); err != nil || text != document {
			return false, err
		}
	}
	attached, err := u.isAttached(ctx, name)
	if err != nil || inline(document) || !attached {
		return inline(document) && !attached, err
	}
	current, _, err := u.versions(ctx, u.policyARN(name, found))
	return current == document, err
}

// decode decodes a policy document, which IAM returns URL-encoded.
func decode(document *string) (string, error) {
	text, err := url.QueryUnescape(aws.ToString(document))
	if err != nil {
		return "", fmt.Errorf("read the policy of a user: %w", err)
	}
	return text, nil
}

// isAttached reports whether the user's managed policy is attached.
func (u *Users) isAttached(ctx context.Context, name string) (bool, error) {
	pages := iam.NewListAttachedUserPoliciesPaginator(u.API, &iam.ListAttachedUserPoliciesInput{UserName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, unlessUnknown(err)
		}
		if slices.ContainsFunc(page.AttachedPolicies, func(p types.AttachedPolicy) bool { return u.isOurs(aws.ToString(p.PolicyArn), name) }) {
			return true, nil
		}
	}
	return false, nil
}

func (u *Users) dropInlinePolicy(ctx context.Context, user, name string) error {
	_, err := u.API.DeleteUserPolicy(ctx, &iam.DeleteUserPolicyInput{UserName: &user, PolicyName: &name})
	return unlessMissing(err)
}

// dropManagedPolicy removes the user's managed policy, whether it is attached or left over from an interrupted call.
func (u *Users) dropManagedPolicy(ctx context.Context, name, arn string) error {
	_, err := u.API.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: &arn})
	if apierror.Unsupported(err) {
		return nil
	}
	if err := unlessMissing(err); err != nil {
		return err
	}
	return u.deleteManagedPolicy(ctx, arn)
}

// putManagedPolicy creates or updates the user's managed policy.
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

// updateManagedPolicy makes document the default version.
func (u *Users) updateManagedPolicy(ctx context.Context, arn, document string) error {
	_, old, err := u.versions(ctx, arn)
	if err != nil {
		return err
	}
	if len(old) >= maxVersions-1 {
		if err := u.deleteVersion(ctx, arn, oldest(old)); err != nil {
			return err
		}
	}
	_, err = u.API.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &arn, PolicyDocument: &document, SetAsDefault: true})
	return err
}

// versions returns the document of a managed policy, which is empty if the policy is not visible, and its non-default
// versions.
func (u *Users) versions(ctx context.Context, arn string) (document string, old []types.PolicyVersion, err error) {
	out, err := u.API.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: &arn})
	if err != nil {
		return "", nil, unlessMissing(err)
	}
	for _, version := range out.Versions {
		if !version.IsDefaultVersion {
			old = append(old, version)
			continue
		}
		current, err := u.API.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: &arn, VersionId: version.VersionId})
		if err != nil {
			return "", nil, unlessMissing(err)
		}
		if document, err = decode(current.PolicyVersion.Document); err != nil {
			return "", nil, err
		}
	}
	return document, old, nil
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

// deleteManagedPolicy deletes a policy that is no longer attached to anything, after its non-default versions.
func (u *Users) deleteManagedPolicy(ctx context.Context, arn string) error {
	_, err := u.API.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &arn})
	if !apierror.InUse(err) {
		return unlessMissing(err)
	}
	_, old, err := u.versions(ctx, arn)
	if err != nil {
		return err
	}
	for _, version := range old {
		if err := u.deleteVersion(ctx, arn, version); err != nil {
			return err
		}
	}
	_, err = u.API.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &arn})
	return unlessMissing(err)
}

// deleteStrayPolicies deletes the managed policy of a user that was removed manually. The path contains nothing else.
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

// policyPath is a separate path for each user, so that the user's policy can be found without the number of the AWS
// account.
func (u *Users) policyPath(name string) string { return u.Path + name + "/" }

// policyARN returns the ARN of the user's managed policy. It is in the same AWS account as the user.
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

// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke makes sure that the access is not granted. Its policy goes first, which ends it for pods
// that have assumed the role before, too; the role goes with the last access. As long as something
// is left the role is there to find it by.
func (r *Roles) Revoke(ctx context.Context, request account.Request) error {
	of := request.ServiceAccount
	if of.Namespace == "" {
		// Grant refuses this, so that nothing was granted.
		return nil
	}
	name := r.name(of)
	unlock, err := r.Locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	role, exists, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	if !exists {
		// Somebody removed it by hand; EKS does not notice that.
		return r.removeAssociation(ctx, of, name)
	}
	trust, err := r.trust(of)
	if err != nil {
		return err
	}
	if why := r.notOurs(role, of, trust); why != "" {
		return driverkit.FailedPrecondition("role %s is not changed; remove it by hand if it is not needed: it %s", name, why)
	}
	if err := r.deletePolicy(ctx, name, policyPrefix+request.Name); err != nil {
		return err
	}
	policies, err := r.policies(ctx, name)
	if err != nil {
		return err
	}
	for _, left := range policies {
		if strings.HasPrefix(left, policyPrefix) && left != policyPrefix+request.Name {
			return nil
		}
	}
	return r.removeRole(ctx, name, of, policies)
}

func (r *Roles) removeAssociation(ctx context.Context, of driverkit.ServiceAccountRef, name string) error {
	if r.PodIdentity == nil {
		return nil
	}
	return r.PodIdentity.remove(ctx, of, ":role"+r.Path+name)
}

// removeRole removes what an administrator added too, since a role cannot be deleted otherwise. The association goes
// last: IAM refuses to delete a role with a policy that was not listed, which may be that of another access.
func (r *Roles) removeRole(ctx context.Context, name string, of driverkit.ServiceAccountRef, policies []string) error {
	for _, added := range policies {
		if err := r.deletePolicy(ctx, name, added); err != nil {
			return err
		}
	}
	if err := r.detachPolicies(ctx, name); err != nil {
		return err
	}
	_, err := r.API.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
	if err := unlessMissing(err); err != nil {
		return err
	}
	return r.removeAssociation(ctx, of, name)
}

// policies lists the names of all inline policies.
func (r *Roles) policies(ctx context.Context, name string) ([]string, error) {
	var names []string
	pages := iam.NewListRolePoliciesPaginator(r.API, &iam.ListRolePoliciesInput{RoleName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, unlessMissing(err)
		}
		names = append(names, page.PolicyNames...)
	}
	return names, nil
}

func (r *Roles) deletePolicy(ctx context.Context, role, name string) error {
	_, err := r.API.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &role, PolicyName: aws.String(name)})
	return unlessMissing(err)
}

func (r *Roles) detachPolicies(ctx context.Context, name string) error {
	pages := iam.NewListAttachedRolePoliciesPaginator(r.API, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if apierror.Unsupported(err) {
			// A compatible store without managed policies.
			return nil
		}
		if err != nil {
			return unlessMissing(err)
		}
		for _, attached := range page.AttachedPolicies {
			_, err := r.API.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: attached.PolicyArn})
			if err := unlessMissing(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func unlessMissing(err error) error {
	if apierror.Is(err, "NoSuchEntity") {
		return nil
	}
	return err
}

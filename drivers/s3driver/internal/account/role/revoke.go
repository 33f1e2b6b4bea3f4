// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Revoke ensures that the access is not granted. It first deletes the access's policy, which also ends the access of
// pods that have already assumed the role. If no other access uses the role, Revoke then deletes the role and, last,
// its Pod Identity association. A stale list can contain deleted policies, and can omit policies that prevent the
// role's deletion. Revoke therefore reads the list again in both cases.
func (r *Roles) Revoke(ctx context.Context, request account.Request) error {
	of := request.ServiceAccount
	if of.Namespace == "" {
		// Grant rejects this, so nothing was granted.
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
		// The role was deleted manually, which EKS does not notice.
		return r.removeAssociation(ctx, of, name)
	}
	trust, err := r.trust(of)
	if err != nil {
		return err
	}
	if why := r.notOurs(role, of, trust); why != "" {
		return driverkit.FailedPrecondition("the driver does not change role %s (delete the role manually if it is unused): the role %s", name, why)
	}
	if err := r.deletePolicy(ctx, name, policyPrefix+request.Name); err != nil {
		return err
	}
	err = driverkit.Repeat(ctx, r.ReadLag, isUsed, func(ctx context.Context) error { return r.removeRole(ctx, name, policyPrefix+request.Name) })
	if errors.Is(err, errUsed) {
		return nil
	}
	if err != nil {
		return err
	}
	// The association is deleted last: a role that could not be deleted may belong to another access that was not
	// listed.
	return r.removeAssociation(ctx, of, name)
}

// errUsed means that a role has other accesses.
var errUsed = errors.New("the role has other accesses")

func isUsed(err error) bool { return errors.Is(err, errUsed) || apierror.InUse(err) }

func (r *Roles) removeAssociation(ctx context.Context, of driverkit.ServiceAccountRef, name string) error {
	if r.PodIdentity == nil {
		return nil
	}
	return r.PodIdentity.remove(ctx, of, ":role"+r.Path+name)
}

// removeRole deletes a role whose last access had this policy. It also removes an administrator's additions, because
// that prevents the deletion of the role. It returns errUsed if there are policies of other accesses.
func (r *Roles) removeRole(ctx context.Context, name, last string) error {
	policies, err := r.policies(ctx, name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(policies, func(left string) bool { return strings.HasPrefix(left, policyPrefix) && left != last }) {
		return errUsed
	}
	for _, added := range policies {
		if err := r.deletePolicy(ctx, name, added); err != nil {
			return err
		}
	}
	if err := r.detachPolicies(ctx, name); err != nil {
		return err
	}
	_, err = r.API.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
	return unlessMissing(err)
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

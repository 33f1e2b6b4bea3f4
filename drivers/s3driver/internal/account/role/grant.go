// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Grant ensures that pods of the service account have exactly the requested access, in addition to that of other
// accesses. Every step can be repeated after a failure at any point.
func (r *Roles) Grant(ctx context.Context, request account.Request) error {
	if err := r.Check(request); err != nil {
		return err
	}
	name := r.name(request.ServiceAccount)
	unlock, err := r.Locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	arn, err := r.ensureRole(ctx, name, request.ServiceAccount)
	if err != nil {
		return err
	}
	err = r.putPolicy(ctx, name, request)
	if apierror.Is(err, "NoSuchEntity") {
		// A role that was just deleted may still be visible.
		if made, failure := r.create(ctx, name, request.ServiceAccount); failure == nil {
			arn, err = made.arn, r.putPolicy(ctx, name, request)
		}
	}
	if err != nil {
		return err
	}
	if r.PodIdentity == nil {
		return nil
	}
	return r.PodIdentity.ensure(ctx, request.ServiceAccount, arn)
}

// ensureRole creates the role with its marks, or checks the existing one, and returns its ARN.
func (r *Roles) ensureRole(ctx context.Context, name string, of driverkit.ServiceAccountRef) (string, error) {
	trust, err := r.trust(of)
	if err != nil {
		return "", err
	}
	role, exists, err := r.read(ctx, name)
	if err == nil && !exists {
		role, err = r.create(ctx, name, of)
		if apierror.Is(err, "EntityAlreadyExists") {
			if role, exists, err = r.find(ctx, name); err == nil && !exists {
				return "", driverkit.Unavailable("role %s has not propagated yet; the driver tries again", name)
			}
		}
	}
	if err != nil {
		return "", err
	}
	if why := r.notOurs(role, of, trust); why != "" {
		return "", driverkit.AlreadyExists("role %s already exists, and the driver does not change it: the role %s", name, why)
	}
	if role.trust == trust {
		return role.arn, nil
	}
	// The configuration of the driver has changed.
	_, err = r.API.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: &name, PolicyDocument: &trust})
	return role.arn, err
}

func (r *Roles) create(ctx context.Context, name string, of driverkit.ServiceAccountRef) (found, error) {
	trust, err := r.trust(of)
	if err != nil {
		return found{}, err
	}
	tags := map[string]string{tagDriver: r.Driver, tagCluster: r.Cluster, tagServiceAccount: of.Namespace + "/" + of.Name}
	input := &iam.CreateRoleInput{RoleName: &name, Path: &r.Path, AssumeRolePolicyDocument: &trust}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		input.Tags = append(input.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	if r.Boundary != "" {
		input.PermissionsBoundary = &r.Boundary
	}
	if _, err := r.API.CreateRole(ctx, input); err != nil {
		return found{}, err
	}
	return r.readBack(ctx, name)
}

// readBack reads the role that was just created. If the store did not keep its marks, readBack deletes the role,
// because nothing could revoke its accesses.
func (r *Roles) readBack(ctx context.Context, name string) (found, error) {
	made, exists, err := r.find(ctx, name)
	switch {
	case err != nil:
		return found{}, err
	case !exists:
		return found{}, driverkit.Unavailable("the store does not show role %s yet; the driver tries again", name)
	case len(made.tags) > 0:
		return made, nil
	}
	if _, err := r.API.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name}); err != nil {
		return found{}, err
	}
	return found{}, account.ForgetsTags("roles")
}

// putPolicy gives the role the policy of one access. It returns an error if the access was granted with another
// policy before.
func (r *Roles) putPolicy(ctx context.Context, name string, request account.Request) error {
	document, err := r.document(request)
	if err != nil {
		return err
	}
	policyName := aws.String(policyPrefix + request.Name)
	existing, differs, err := driverkit.Find(ctx, r.ReadLag, func(ctx context.Context) (string, bool, error) {
		out, err := r.API.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: policyName})
		if err != nil {
			return "", true, unlessMissing(err)
		}
		existing := plain(out.PolicyDocument)
		return existing, existing != document, nil
	})
	switch {
	case err != nil || !differs:
		return err
	case existing != "" && !strings.Contains(existing, `"`+mark(request.Hash)+`"`):
		return driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.ID)
	}
	_, err = r.API.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &name, PolicyName: policyName, PolicyDocument: &document})
	if apierror.Is(err, "LimitExceeded") {
		return driverkit.ResourceExhausted("role %s has no room for another policy: IAM allows %d characters for all policies of a role; use another service account for some accesses", name, maxPolicies).WithDetail(err)
	}
	return err
}

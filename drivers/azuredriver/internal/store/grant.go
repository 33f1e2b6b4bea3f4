// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Signer makes shared access signatures.
type Signer interface {
	// SignPolicy answers the query of a signature that names a stored access policy and nothing else,
	// the identical one for the same names.
	SignPolicy(container, policy string) (cosi.Secret, error)
}

// Signature lets a workload use a container.
type Signature struct {
	// Query is the query of a URL.
	Query cosi.Secret
	// Expiry is when it stops working; zero if it does not.
	Expiry time.Time
}

// Grant makes sure that the container has the stored access policy for the request, and answers the
// signature that names it.
func (a *Account) Grant(ctx context.Context, name string, want policy.Request) (Signature, error) {
	if a.Delegator != nil {
		return a.grantDelegated(ctx, name, want)
	}
	acl, err := a.readACL(ctx, name)
	if err != nil {
		return Signature{}, err
	}
	next, current, err := policy.Plan(acl.policies, want, a.Now())
	if err != nil {
		return Signature{}, err
	}
	if len(policy.Remove(acl.policies, want.Account)) == len(acl.policies) {
		// Without a policy here, there may be one in another container.
		err = a.keepRecord(ctx, want.Account, name, want.Permission)
	}
	if err == nil && !slices.Equal(next, acl.policies) {
		err = a.change(ctx, name, func(found []policy.Policy) ([]policy.Policy, error) {
			var err error
			next, current, err = policy.Plan(found, want, a.Now())
			return next, err
		})
	}
	if err != nil {
		return Signature{}, err
	}
	query, err := a.Signer.SignPolicy(name, current.ID)
	made := Signature{Query: query}
	if want.Lifetime != 0 {
		made.Expiry = current.Expiry
	}
	return made, err
}

// Revoke makes sure that the container has no policy of the account, which ends its signatures, and
// that there is no record of it. A missing container has no policy.
func (a *Account) Revoke(ctx context.Context, name, account string) error {
	acl, err := a.readACL(ctx, name)
	if a.Delegator != nil && apierror.Is(err, "AuthorizationPermissionMismatch") {
		// An identity with less than Storage Blob Data Owner does not see policies, and has made none.
		return a.dropRecord(ctx, account)
	}
	if err == nil && len(policy.Remove(acl.policies, account)) != len(acl.policies) {
		err = a.change(ctx, name, func(found []policy.Policy) ([]policy.Policy, error) {
			return policy.Remove(found, account), nil
		})
	}
	if err != nil && !apierror.Gone(err) {
		return err
	}
	return a.dropRecord(ctx, account)
}

// change edits the policies of a container. The service only replaces the whole list, without a
// condition on what it was, so that two editors would undo each other's changes: a lock keeps those of
// this process apart, and a lease those of different processes.
func (a *Account) change(ctx context.Context, name string, edit func([]policy.Policy) ([]policy.Policy, error)) error {
	unlock, err := a.locks.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	held, err := a.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer release(ctx, held)
	acl, err := a.readACL(ctx, name)
	if err != nil {
		return err
	}
	next, err := edit(acl.policies)
	if err != nil || slices.Equal(next, acl.policies) {
		return err
	}
	_, err = a.container(name).SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{
		// Without it the call would end anonymous access that an administrator gave.
		Access:           acl.public,
		ContainerACL:     identifiers(next),
		AccessConditions: &container.AccessConditions{LeaseAccessConditions: &lease.AccessConditions{LeaseID: held.LeaseID()}},
	})
	return err
}

// acl is what a container's access control list says.
type acl struct {
	public   *container.PublicAccessType
	policies []policy.Policy
}

func (a *Account) readACL(ctx context.Context, name string) (acl, error) {
	answer, err := a.container(name).GetAccessPolicy(ctx, nil)
	if err != nil {
		return acl{}, err
	}
	found := acl{public: answer.BlobPublicAccess}
	for _, one := range answer.SignedIdentifiers {
		if one == nil || one.ID == nil {
			continue
		}
		read := policy.Policy{ID: *one.ID}
		if p := one.AccessPolicy; p != nil {
			read.Permission, read.Start, read.Expiry = value(p.Permission), value(p.Start).UTC(), value(p.Expiry).UTC()
		}
		found.policies = append(found.policies, read)
	}
	return found, nil
}

func value[T any](pointer *T) T {
	if pointer == nil {
		var none T
		return none
	}
	return *pointer
}

// identifiers answers the policies as the service takes them. An empty list is not nil, which the SDK
// would leave out of the request.
func identifiers(policies []policy.Policy) []*container.SignedIdentifier {
	out := []*container.SignedIdentifier{}
	for _, one := range policies {
		stored := &container.AccessPolicy{}
		if one.Permission != "" {
			stored.Permission = to.Ptr(one.Permission)
		}
		if !one.Start.IsZero() {
			stored.Start = to.Ptr(one.Start)
		}
		if !one.Expiry.IsZero() {
			stored.Expiry = to.Ptr(one.Expiry)
		}
		out = append(out, &container.SignedIdentifier{ID: to.Ptr(one.ID), AccessPolicy: stored})
	}
	return out
}

// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Check returns an error for access that no signature can grant. It makes no calls. The kit rejects requests for
// several buckets.
func (m *Manager) Check(asked account.Request) error {
	if len(asked.Buckets) != 1 {
		return driverkit.InvalidArgument("an account with authentication type Key can access only one bucket; create one access for each bucket")
	}
	if life := asked.Parameters.Lifetime; m.Delegator != nil && life != 0 && (life < MinDelegated || life > MaxDelegated) {
		return driverkit.InvalidArgument("parameter expiry must be from 1h to 168h for bucket %s: its storage account has signing userDelegation, and user delegation SAS tokens are valid for at most 7 days", asked.Buckets[0].ID)
	}
	return nil
}

// Grant ensures that the container has the stored access policy for the request, which must have passed Check, and
// returns the signature that refers to it.
func (m *Manager) Grant(ctx context.Context, asked account.Request) (Signature, error) {
	name := asked.Buckets[0].Name
	want := policy.Request{
		Account: asked.ID, Permission: asked.Buckets[0].Access.Permission(), Lifetime: asked.Parameters.Lifetime, Rotation: asked.Rotation,
	}
	if m.Delegator != nil {
		return m.grantDelegated(ctx, name, want)
	}
	acl, err := m.readACL(ctx, name)
	if err != nil {
		return Signature{}, err
	}
	next, current, err := policy.Plan(acl.policies, want, m.Now())
	if err != nil {
		return Signature{}, err
	}
	if len(policy.Remove(acl.policies, want.Account)) == len(acl.policies) {
		// If this container has no policy, another container may have one.
		err = m.keepRecord(ctx, want.Account, name, want.Permission)
	} else {
		err = m.checkRecord(ctx, want.Account, driverkit.AlreadyExists)
	}
	if err == nil && !slices.Equal(next, acl.policies) {
		err = m.change(ctx, name, func(found []policy.Policy) ([]policy.Policy, error) {
			var err error
			next, current, err = policy.Plan(found, want, m.Now())
			return next, err
		})
	}
	if err != nil {
		return Signature{}, err
	}
	query, err := m.Signer.SignPolicy(name, current.ID)
	made := Signature{Query: query}
	if want.Lifetime != 0 {
		made.Expiry = current.Expiry
	}
	return made, err
}

// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
)

// Grant makes sure that the container has the stored access policy for the request, and returns the
// signature that names it.
func (m *Manager) Grant(ctx context.Context, name string, want policy.Request) (Signature, error) {
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
		// Without a policy here, there may be one in another container.
		err = m.keepRecord(ctx, want.Account, name, want.Permission)
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

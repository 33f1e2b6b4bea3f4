// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Revoke ensures that the container has no policy of the account, which invalidates its signatures, and that the
// account has no record. A missing container has no policies.
func (m *Manager) Revoke(ctx context.Context, name, account string) error {
	acl, err := m.readACL(ctx, name)
	if m.Delegator != nil && apierror.Is(err, "AuthorizationPermissionMismatch") {
		// An identity with fewer permissions than Storage Blob Data Owner cannot read policies, and has created none.
		return m.dropRecord(ctx, account)
	}
	if err == nil && len(policy.Remove(acl.policies, account)) != len(acl.policies) {
		if err := m.checkRecord(ctx, account, driverkit.FailedPrecondition); err != nil {
			return err
		}
		err = m.change(ctx, name, func(found []policy.Policy) ([]policy.Policy, error) {
			return policy.Remove(found, account), nil
		})
	}
	if err != nil && !apierror.Gone(err) {
		return err
	}
	return m.dropRecord(ctx, account)
}

// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Revoke makes sure that the container has no policy of the account, which ends its signatures, and
// that there is no record of it. A missing container has no policy.
func (m *Manager) Revoke(ctx context.Context, name, account string) error {
	acl, err := m.readACL(ctx, name)
	if m.Delegator != nil && apierror.Is(err, "AuthorizationPermissionMismatch") {
		// An identity with less than Storage Blob Data Owner does not see policies, and has made none.
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

// SPDX-License-Identifier: Apache-2.0

package identity

import "context"

// Revoke makes sure that the access has no role and no identity. The grants are those that it may have had, to find
// roles of an identity that somebody deleted; their buckets need not exist.
func (m *Manager) Revoke(ctx context.Context, account string, grants []Grant) error {
	found, err := m.Identities.Get(ctx, m.Group, account, nil)
	if gone(err) {
		var left []assigned
		for _, g := range grants {
			left = append(left, assigned{g.Scope, m.assignment(account, g)})
		}
		return m.unassign(ctx, left)
	}
	if err != nil || !m.ours(found.Identity) {
		return err
	}
	principal, err := principalOf(found.Identity)
	if err != nil {
		return err
	}
	present, err := m.assignments(ctx, principal)
	if err != nil {
		return err
	}
	if err := m.unassign(ctx, present); err != nil {
		return err
	}
	// The federated credential goes with it.
	_, err = m.Identities.Delete(ctx, m.Group, account, nil)
	if gone(err) {
		return nil
	}
	return err
}

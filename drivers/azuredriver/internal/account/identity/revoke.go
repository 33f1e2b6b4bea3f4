// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"maps"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Revoke ensures that the access has no role and no identity. Only IDs and names of the request are set; its buckets
// do not need to exist.
func (m *Manager) Revoke(ctx context.Context, granted account.Request) error {
	found, err := driverkit.Reread(ctx, m.ReadLag, gone, func(ctx context.Context) (armmsi.UserAssignedIdentitiesClientGetResponse, error) {
		return m.Identities.Get(ctx, m.Group, granted.ID, nil)
	})
	if gone(err) {
		return m.unassign(ctx, m.possible(granted))
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
	// Assignments that the list omits can be found by name.
	for _, one := range m.possible(granted) {
		if !slices.ContainsFunc(present, func(listed assigned) bool { return listed.name == one.name }) {
			present = append(present, one)
		}
	}
	if err := m.unassign(ctx, present); err != nil {
		return err
	}
	// This also deletes the federated credential.
	_, err = m.Identities.Delete(ctx, m.Group, granted.ID, nil)
	if gone(err) {
		return nil
	}
	return err
}

// possible returns all role assignments that the access may have had, to find those of an identity that was deleted
// manually.
func (m *Manager) possible(granted account.Request) []assigned {
	var all []assigned
	for _, bucket := range granted.Buckets {
		if bucket.ResourceID == "" {
			continue
		}
		for _, role := range slices.Sorted(maps.Values(m.Roles)) {
			g := m.at(bucket, role)
			all = append(all, assigned{g.scope, m.assignment(granted.ID, g)})
		}
	}
	return all
}

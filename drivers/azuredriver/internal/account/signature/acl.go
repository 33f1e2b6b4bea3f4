// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
)

// change edits the policies of a container. The service can only replace the whole list, unconditionally, so two
// concurrent editors would undo each other's changes. A lock serializes the changes of this process, and a lease
// those of different processes.
func (m *Manager) change(ctx context.Context, name string, edit func([]policy.Policy) ([]policy.Policy, error)) error {
	unlock, err := m.locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	held, err := m.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer release(ctx, held)
	acl, err := m.readACL(ctx, name)
	if err != nil {
		return err
	}
	next, err := edit(acl.policies)
	if err != nil || slices.Equal(next, acl.policies) {
		return err
	}
	_, err = m.container(name).SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{
		// Without this the call would end anonymous access that an administrator configured.
		Access:           acl.public,
		ContainerACL:     identifiers(next),
		AccessConditions: &container.AccessConditions{LeaseAccessConditions: &lease.AccessConditions{LeaseID: held.LeaseID()}},
	})
	return err
}

// acl is the access control list of a container.
type acl struct {
	public   *container.PublicAccessType
	policies []policy.Policy
}

func (m *Manager) readACL(ctx context.Context, name string) (acl, error) {
	answer, err := m.container(name).GetAccessPolicy(ctx, nil)
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

// identifiers converts policies to the SDK's type. The result is never nil, because the SDK would omit a nil list
// from the request.
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

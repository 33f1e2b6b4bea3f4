// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Notes of an access without keys.
const (
	noteParams    = "params"
	notePrincipal = "principal"
)

// GrantPrincipal gives a Kubernetes service account exactly the requested access. Several accesses
// can be for the same one: each has bindings of its own, so that revoking one leaves the others.
//
// What was granted is noted in the credential store first, since the buckets of another request
// would not tell. There is no secret in it: if the store is lost, the bindings still tell most.
func (p *Project) GrantPrincipal(ctx context.Context, request Request) error {
	if err := p.note(ctx, request); err != nil {
		return err
	}
	return p.edit(ctx, request.Buckets, false, func(current *storage.Policy, bucket Bucket) (bool, error) {
		claim := p.claim(request, bucket.Name)
		if described := claim.Described(current); described != "" && described != claim.Description {
			return false, otherwise(request.ID)
		}
		return claim.Bind(current, request.Principal, bucket.Roles), nil
	})
}

// RevokePrincipal removes the bindings of the access from every bucket that still exists.
func (p *Project) RevokePrincipal(ctx context.Context, request Request) error {
	err := p.edit(ctx, request.Buckets, true, func(current *storage.Policy, bucket Bucket) (bool, error) {
		return p.claim(request, bucket.Name).Release(current), nil
	})
	if err != nil {
		return err
	}
	return p.forget(ctx, request.ID)
}

func (p *Project) note(ctx context.Context, request Request) error {
	entry, err := p.Store.Get(ctx, request.ID)
	switch {
	case err == nil && entry.Notes[noteParams] != request.Hash:
		return otherwise(request.ID)
	case err == nil:
		return nil
	case !errors.Is(err, credstore.ErrNotFound):
		return credentials.StoreError(request.ID, err)
	}
	_, err = p.Store.Put(ctx, credstore.Entry{
		Account: request.ID,
		Notes:   map[string]string{noteParams: request.Hash, notePrincipal: request.Principal},
	})
	if err != nil {
		return credentials.StoreError(request.ID, err)
	}
	return nil
}

// claim is what tells the bindings of this access on a bucket from those of others. The condition
// says nothing that the binding would not: a bucket's policy is about that bucket alone.
func (p *Project) claim(request Request, bucket string) policy.Claim {
	owner := markPrefix + p.owner() + ";"
	return policy.Claim{
		Title:       "cosi " + request.ID,
		Description: owner + request.Hash,
		Owner:       owner,
		Expression:  `resource.name.startsWith("projects/_/buckets/` + bucket + `")`,
	}
}

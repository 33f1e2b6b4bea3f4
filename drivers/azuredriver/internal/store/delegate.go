// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Delegator signs for accounts that do not accept their keys.
type Delegator interface {
	// SignDelegated answers the query of a signature that holds everything itself.
	SignDelegated(ctx context.Context, container string, asked Delegated) (cosi.Secret, error)
}

// Delegated is what a signature by a user delegation key says.
type Delegated struct {
	Window

	Permission string
	// Correlation is a UUID that Azure writes to its logs.
	Correlation string
}

// Window is a time, in UTC and whole seconds.
type Window struct{ Start, End time.Time }

const (
	// MaxDelegated is how long Azure lets a user delegation key live, and MinDelegated the shortest life
	// that leaves room for clocks and renewals.
	MaxDelegated = 7 * 24 * time.Hour
	MinDelegated = time.Hour
	// backdated is how far the clocks of driver and service may differ.
	backdated = 15 * time.Minute
	// shares of the life pass until a repeated call gets a later end: the answers in between are the same.
	shares = 8
)

// namespace makes correlation IDs from names.
var namespace = uuid.MustParse("6c6f6b2e-5f0c-4f2c-8a53-3f2d8d6f3c11")

// grantDelegated answers a signature that nothing at the service stands for: only the record of the
// account is made. It cannot be revoked singly and ends by itself.
func (a *Account) grantDelegated(ctx context.Context, name string, want policy.Request) (Signature, error) {
	life := want.Lifetime
	if life == 0 {
		life = MaxDelegated
	}
	if _, err := a.properties(ctx, name); err != nil {
		return Signature{}, err
	}
	if err := a.keepRecord(ctx, want.Account, name, want.Permission); err != nil {
		return Signature{}, err
	}
	start := a.Now().UTC().Add(-backdated).Truncate(life / shares).Truncate(time.Second)
	asked := Delegated{
		Window: Window{start, start.Add(life)}, Permission: want.Permission,
		Correlation: uuid.NewSHA1(namespace, []byte(a.Driver+"/"+a.Cluster+"/"+want.Account+"/"+want.Rotation)).String(),
	}
	query, err := a.Delegator.SignDelegated(ctx, name, asked)
	return Signature{Query: query, Expiry: asked.End}, err
}

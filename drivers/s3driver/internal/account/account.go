// SPDX-License-Identifier: Apache-2.0

// Package account is what the ways to manage accounts have in common: a request for an account, and
// the algorithm for credentials that a store shows only once.
package account

import (
	"errors"
	"fmt"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID, under which the credential store keeps the credential.
	ID string
	// Name is the account's name at the store.
	Name string
	// Buckets that the account reaches.
	Buckets []policy.Bucket
	// Hash is equal for requests that ask for equal accounts.
	Hash string
	// Rotation asks for a new credential when it differs from the last one.
	Rotation string
	// AcceptShared says that the class accepts a key that others have too.
	AcceptShared bool
}

// StoreError answers what a failure of the credential store means for the call about an account.
func StoreError(id string, err error) error {
	switch {
	case errors.Is(err, credstore.ErrConflict):
		return driverkit.Aborted("account %s is being changed by another process", id).WithDetail(err)
	case errors.Is(err, credstore.ErrCorrupt):
		return driverkit.FailedPrecondition("the stored credential of account %s is damaged; the driver's log says how to go on", id).WithDetail(err)
	case errors.Is(err, credstore.ErrStoreID):
		return driverkit.FailedPrecondition("credential store lost; the driver's log says how to go on").WithDetail(err)
	default:
		return driverkit.Unavailable("the credential store cannot be used").WithDetail(fmt.Errorf("account %s: %w", id, err))
	}
}

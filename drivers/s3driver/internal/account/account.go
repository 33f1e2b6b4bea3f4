// SPDX-License-Identifier: Apache-2.0

// Package account is what the ways to manage accounts have in common: a request for an account.
package account

import (
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
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
	// ServiceAccount is whose access it is, if that is not a key's.
	ServiceAccount driverkit.ServiceAccountRef
	// Rotation asks for a new credential when it differs from the last one.
	Rotation string
	// AcceptShared says that the class accepts a key that others have too.
	AcceptShared bool
}

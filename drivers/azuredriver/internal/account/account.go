// SPDX-License-Identifier: Apache-2.0

// Package account is what the ways to manage accounts have in common: a request for an account.
package account

import (
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID. What stands for the account at Azure is named after it.
	ID string
	// Buckets that the account reaches.
	Buckets []Bucket
	// Parameters are those of the class.
	Parameters params.Access
	// ServiceAccount is whose access it is, if that is not a key's.
	ServiceAccount driverkit.ServiceAccountRef
	// Rotation asks for a new credential when it differs from the last one.
	Rotation string
	// Disallowed is what the class forbids, for accounts that can do more than Buckets says.
	Disallowed driverkit.DisallowedModes
}

// Bucket is one bucket of an account.
type Bucket struct {
	// ID is the COSI bucket ID, Name the container's.
	ID, Name string
	// StorageAccount holds the container, and ResourceID is its ID at Azure Resource Manager; empty if the
	// configuration has none.
	StorageAccount, ResourceID string
	Access                     policy.Access
}

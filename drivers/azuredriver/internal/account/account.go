// SPDX-License-Identifier: Apache-2.0

// Package account defines Request, which describes the account that an account manager grants or revokes. All account
// managers of the driver use it.
package account

import (
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID, which is part of the names of the account's resources in Azure.
	ID string
	// Buckets that the account can access.
	Buckets []Bucket
	// Parameters are the class parameters.
	Parameters params.Access
	// ServiceAccount is set if the access is for a service account instead of a key.
	ServiceAccount driverkit.ServiceAccountRef
	// Rotation requests a new credential if it differs from the last rotation.
	Rotation string
	// Disallowed are the modes that the class forbids. An account's effective access can exceed Buckets, so account
	// managers check it against these modes.
	Disallowed driverkit.DisallowedModes
}

// Bucket is one bucket of an account.
type Bucket struct {
	// ID is the COSI bucket ID, and Name the container's name.
	ID, Name string
	// StorageAccount contains the container. ResourceID is the storage account's ID in Azure Resource Manager, or empty
	// if none is configured.
	StorageAccount, ResourceID string
	Access                     policy.Access
}

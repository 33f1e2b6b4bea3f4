// SPDX-License-Identifier: Apache-2.0

// Package signature manages accounts that use a container by a shared access signature: by one that names a stored
// access policy of the container or, where the storage account does not accept its keys, by one that holds everything
// itself.
package signature

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Manager manages the accounts of one storage account. All fields but Cluster are required.
type Manager struct {
	// API is the client, with the driver's own credentials.
	API *service.Client
	// Signer makes the signatures; Delegator does instead if it is set.
	Signer    Signer
	Delegator Delegator
	// Driver and Cluster are parts of the names of records.
	Driver, Cluster string
	// Records is the name of the container with the records of accounts. It is made when needed.
	Records string
	// Now is the clock.
	Now func() time.Time

	// locks keeps the changes of one container by this process apart.
	locks keylock.Locks
}

// Signer makes shared access signatures.
type Signer interface {
	// SignPolicy returns the query of a signature that names a stored access policy and nothing else,
	// the identical one for the same names.
	SignPolicy(container, policy string) (cosi.Secret, error)
}

// Signature lets a workload use a container.
type Signature struct {
	// Query is the query of a URL.
	Query cosi.Secret
	// Expiry is when it stops working; zero if it does not.
	Expiry time.Time
}

func (m *Manager) container(name string) *container.Client { return m.API.NewContainerClient(name) }

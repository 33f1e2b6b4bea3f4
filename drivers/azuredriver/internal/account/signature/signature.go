// SPDX-License-Identifier: Apache-2.0

// Package signature manages accounts that use a container with a shared access signature. The signature refers to a
// stored access policy of the container. For storage accounts that do not accept their account keys, the driver signs
// with a user delegation key. Such a signature contains its permissions and expiry and refers to no policy.
package signature

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Manager manages the accounts of one storage account. All fields except Cluster are required.
type Manager struct {
	// API is the client, with the driver's own credentials.
	API *service.Client
	// Signer creates the signatures, unless Delegator is set.
	Signer    Signer
	Delegator Delegator
	// Driver and Cluster are parts of the names of records.
	Driver, Cluster string
	// Records is the name of the container with the records of accounts. It is created when needed.
	Records string
	// Now returns the current time.
	Now func() time.Time

	// locks serializes this process's changes of one container.
	locks keylock.Locks
}

// Signer creates shared access signatures.
type Signer interface {
	// SignPolicy returns the query string of a signature that contains only a reference to a stored access policy.
	// The same arguments always give the same result, unless the account key changes.
	SignPolicy(container, policy string) (cosi.Secret, error)
}

// Signature lets a workload use a container.
type Signature struct {
	// Query is the query string of a URL.
	Query cosi.Secret
	// Expiry is when the signature expires; zero if it does not.
	Expiry time.Time
}

func (m *Manager) container(name string) *container.Client { return m.API.NewContainerClient(name) }

// SPDX-License-Identifier: Apache-2.0

// Package azuredriver is the COSI driver for Azure Blob Storage. A bucket is a container of a configured storage
// account. For an access with a key, the driver creates a stored access policy in that container and returns a shared
// access signature that refers to the policy. For an access of a Kubernetes service account, it creates a managed
// identity.
//
// Config lists the storage accounts. New creates the driver, which driverkit serves. The driver stores no data
// outside Azure. It does not store signatures, because it can compute them again.
package azuredriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

// SPDX-License-Identifier: Apache-2.0

// Package azuredriver is the COSI driver for Azure Blob Storage. A bucket is a container of a configured storage
// account. An access is a stored access policy of that container together with a shared access signature that refers
// to it.
//
// Config lists the storage accounts. New creates the driver, which driverkit serves. The package keeps no state of
// its own: a signature is a function of account key, container and account ID, and all other state is in the requests
// and at the service.
package azuredriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

// SPDX-License-Identifier: Apache-2.0

// Package azuredriver is the COSI driver for Azure Blob Storage: a bucket is a container of a
// configured storage account, and an access is a stored access policy of that container together
// with a shared access signature that names it.
//
// Config lists the storage accounts; New makes the driver, which driverkit serves. The package keeps
// no state: a signature is a function of account key, container and account ID, and everything else
// is in the requests and at the service.
package azuredriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

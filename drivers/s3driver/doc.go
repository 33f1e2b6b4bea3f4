// SPDX-License-Identifier: Apache-2.0

// Package s3driver is the COSI driver for S3. It manages buckets through the S3 API and accounts through the API that
// the store provides for them.
//
// Config lists the stores, called backends. New creates the driver, which driverkit serves. The package keeps no
// state of its own: all state is in the requests, at the stores, and in the credential store.
package s3driver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

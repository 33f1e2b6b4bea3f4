// SPDX-License-Identifier: Apache-2.0

// Package gcsdriver is the COSI driver for Google Cloud Storage. It manages buckets, a Google service account with
// keys for each access, and bindings in the policies of buckets.
//
// Config lists the projects, called backends. New creates the driver, which driverkit serves. The package keeps no
// state of its own: all state is in the requests, at Google, and in the credential store.
package gcsdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

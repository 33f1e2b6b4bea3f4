// SPDX-License-Identifier: Apache-2.0

// Package gcsdriver is the COSI driver for Google Cloud Storage: it makes buckets, a service account
// with keys for each access, and bindings in the policies of buckets.
//
// Config lists the projects, called backends; New makes the driver, which driverkit serves. The
// package keeps no state: what it knows is in the requests, at Google, and in the credential store.
package gcsdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

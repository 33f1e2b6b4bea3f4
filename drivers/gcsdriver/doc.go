// SPDX-License-Identifier: Apache-2.0

// Package gcsdriver is the COSI driver for Google Cloud Storage. For each access with keys, it creates a Google
// service account and its keys. For each access, with or without keys, it adds bindings to the IAM policies of the
// buckets.
//
// Config lists the projects, called backends. New creates the driver, which driverkit serves. The driver stores data
// only at Google and in the credential store.
package gcsdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

// SPDX-License-Identifier: Apache-2.0

// Package staticdriver is the COSI driver for buckets that no other driver supports. An administrator configures an
// existing bucket and credentials for it, each with the access modes that it has at the store. Users claim the bucket
// and get one of the credentials.
//
// The driver creates no buckets or accounts, changes nothing at any store, and cannot revoke anything: a user keeps a
// credential until the administrator replaces it at the store. The package keeps no state of its own: all state is in
// the requests, in the configured directories, and in the credential store, which records what accounts are for.
package staticdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

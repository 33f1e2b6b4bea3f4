// SPDX-License-Identifier: Apache-2.0

// Package staticdriver is the COSI driver for buckets that no other driver supports. An administrator configures
// existing buckets. For each bucket, the administrator also configures one or more credentials and the access modes
// that each credential has at the store. A user claims the bucket, and each access gets one of the credentials.
//
// The driver creates no buckets or accounts and changes nothing at any store. It cannot revoke a credential: users
// keep it until the administrator replaces it at the store. The driver reads the credentials from the configured
// directories. In the credential store, it records only which access each account was granted.
package staticdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

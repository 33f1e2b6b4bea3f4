// SPDX-License-Identifier: Apache-2.0

// Package staticdriver is the COSI driver for buckets that no other driver serves: an administrator names a bucket that
// exists, and gives the driver credentials for it, each with the access modes that it has at the store. Users claim the
// bucket and get such a credential.
//
// It makes no bucket and no account, changes nothing at any store, and can revoke nothing: who got a credential has it
// until the administrator exchanges it at the store. The package keeps no state of its own: what it knows is in the
// requests, in the directories of its configuration, and in the credential store, which has what accounts are for.
package staticdriver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .

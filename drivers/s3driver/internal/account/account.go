// SPDX-License-Identifier: Apache-2.0

// Package account is what the ways to manage accounts have in common: a request for an account.
package account

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// NoteBuckets is the note with the names of an account's buckets, separated by spaces.
const NoteBuckets = "buckets"

// Request asks for an account with exactly this access.
type Request struct {
	// ID is the COSI account ID, under which the credential store keeps the credential.
	ID string
	// Name is the account's name at the store.
	Name string
	// AWSAccount is the number of the AWS account that has the buckets; empty for other stores, and before a grant.
	AWSAccount string
	// Buckets that the account reaches.
	Buckets []policy.Bucket
	// Hash is equal for requests that ask for equal accounts.
	Hash string
	// ServiceAccount is whose access it is, if that is not a key's.
	ServiceAccount driverkit.ServiceAccountRef
	// Rotation asks for a new credential when it differs from the last one.
	Rotation string
	// AcceptShared says that the class accepts a key that others have too.
	AcceptShared bool
	// Disallowed is what the class forbids, for accounts that can do more than Buckets says.
	Disallowed driverkit.DisallowedModes
}

// Supplied is the request to a store that takes the key from us. The names of the buckets are noted,
// since a revoke may not name them all.
func (r Request) Supplied() credentials.SuppliedRequest {
	buckets := make([]string, len(r.Buckets))
	for i, bucket := range r.Buckets {
		buckets[i] = bucket.Name
	}
	return credentials.SuppliedRequest{
		Request: credentials.Request{Account: r.ID, Rotation: r.Rotation},
		Hash:    r.Hash, Notes: map[string]string{NoteBuckets: strings.Join(buckets, " ")},
	}
}

// ForgetsTags is the refusal to make anything of a kind, such as users, at a store that takes tags of it and keeps none.
func ForgetsTags(kind string) *driverkit.Error {
	return driverkit.FailedPrecondition("the store does not keep the tags of %s, by which the driver knows its own: what it made there it could not revoke. "+
		"An administrator has to configure it as type rgw, if it is that of Ceph, or else as type static, or use a store whose IAM keeps tags", kind)
}

// NewKey makes a key for a store that takes it from us; its public half names the account.
func NewKey(name string) credentials.Credential {
	var suffix [4]byte
	// crypto/rand.Read never fails; it ends the program when the system has no randomness.
	_, _ = rand.Read(suffix[:])
	return credentials.Credential{ID: name + "-" + hex.EncodeToString(suffix[:]), Secret: credentials.NewSecret()}
}

// SPDX-License-Identifier: Apache-2.0

// Package account defines Request, which describes the account that an account manager grants or revokes. All account
// managers of the driver use it.
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
	// ID is the COSI account ID, which is the key of the credential in the credential store.
	ID string
	// Name is the account's name at the store.
	Name string
	// AWSAccount is the number of the AWS account that owns the buckets. It is empty for other stores and before a
	// grant.
	AWSAccount string
	// Buckets that the account can access.
	Buckets []policy.Bucket
	// Hash identifies the requested account: equal requests have the same Hash.
	Hash string
	// ServiceAccount is set if the access is for a service account instead of a key.
	ServiceAccount driverkit.ServiceAccountRef
	// Rotation requests a new credential if it differs from the last rotation.
	Rotation string
	// AcceptShared means that the class accepts a key that other accounts also have.
	AcceptShared bool
	// Disallowed are the modes that the class forbids. An account's effective access can exceed Buckets, so account
	// managers check it against these modes.
	Disallowed driverkit.DisallowedModes
}

// Supplied returns the request for a store that accepts secrets chosen by the driver. It records the bucket names as
// a note, because a revoke may not name all buckets.
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

// ForgetsTags returns the error for a store that accepts tags on resources of a kind, such as users, but does not
// keep them.
func ForgetsTags(kind string) *driverkit.Error {
	return driverkit.FailedPrecondition("the store discards the tags of %s, so the driver cannot mark its accounts and could not revoke them later. "+
		"An administrator has to configure the backend as type rgw if the store is Ceph, otherwise as type static, or use a store with tags in its IAM", kind)
}

// NewKey generates a key for a store that accepts secrets chosen by the driver. The key's public half contains the
// account name.
func NewKey(name string) credentials.Credential {
	var suffix [4]byte
	// crypto/rand.Read never returns an error; it crashes the program if the system has no randomness.
	_, _ = rand.Read(suffix[:])
	return credentials.Credential{ID: name + "-" + hex.EncodeToString(suffix[:]), Secret: credentials.NewSecret()}
}

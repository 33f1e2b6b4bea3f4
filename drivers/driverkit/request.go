// SPDX-License-Identifier: Apache-2.0

package driverkit

// Protocol is a protocol for object data.
type Protocol string

// The protocols of the contract.
const (
	S3    Protocol = "S3"
	Azure Protocol = "Azure"
	GCS   Protocol = "GCS"
)

// AuthType says how a workload proves who it is.
type AuthType string

// The authentication types of the contract.
const (
	// Key is a credential that GrantAccess returns.
	Key AuthType = "Key"
	// ServiceAccount is the identity of a Kubernetes service account; no credential is returned.
	ServiceAccount AuthType = "ServiceAccount"
)

// Mode is the permission on one category of what a bucket holds.
type Mode string

// The access modes of the contract.
const (
	// Any means that the user left the category open: grant the least that makes the others useful, and
	// no more than AccessSpec.Disallowed leaves.
	Any       Mode = "Any"
	ReadWrite Mode = "ReadWrite"
	ReadOnly  Mode = "ReadOnly"
	WriteOnly Mode = "WriteOnly"
)

// BucketIDRequest asks IDGenerator for the ID of a new bucket.
type BucketIDRequest struct {
	// Name is unique, 1 to 253 bytes, "bc-" and a UUID.
	Name string
	// Protocols that the bucket must support, sorted; empty lets the driver choose.
	Protocols []Protocol
	// Parameters of the BucketClass.
	Parameters Values
}

// CreateBucketRequest asks Driver for a new bucket.
type CreateBucketRequest struct {
	// BucketID is the ID from phase 1.
	BucketID string
	// Protocols that the bucket must support, sorted; empty lets the driver choose.
	Protocols []Protocol
	// Parameters of the BucketClass.
	Parameters Values
}

// GetBucketRequest asks Driver about an existing bucket.
type GetBucketRequest struct {
	// BucketID is what the administrator wrote.
	BucketID string
	// Protocols that the bucket must support, sorted; may be empty.
	Protocols []Protocol
	// Parameters that the bucket must fit.
	Parameters Values
}

// DeleteBucketRequest asks Driver to remove a bucket.
type DeleteBucketRequest struct {
	// BucketID is the ID of the bucket's creation.
	BucketID string
	// Parameters of the bucket's creation. They are not checked: they may come from an older
	// version of the driver.
	Parameters Values
}

// AccessSpec is what a workload wants of its account.
type AccessSpec struct {
	// Protocol is the protocol that the workload will use.
	Protocol Protocol
	// AuthType is how the workload will authenticate.
	AuthType AuthType
	// ServiceAccount is set if and only if AuthType is ServiceAccount.
	ServiceAccount ServiceAccountRef
	// Parameters of the BucketAccessClass.
	Parameters Values
	// Buckets of the access, sorted by ID, each once, at least one.
	Buckets []BucketAccess
	// Disallowed is what the class forbids on every bucket, in what is left open, too. The kit refuses
	// what is asked for by name. It is not part of what an account is for, nor of its JSON: a sidecar
	// that is older than its controller does not send it, so a repeated grant may have it for the first
	// time.
	Disallowed DisallowedModes `json:"-"`
	// OnlyPairs says that whoever asks knows no credential of GCS but an HMAC pair: a driver of GCS
	// refuses what would make another. Like Disallowed it is no part of what an account is for.
	OnlyPairs bool `json:"-"`
	// Rotation asks for a new credential when it differs from the value of the last grant; the
	// previous credential keeps working, older ones do not. Empty: never asked.
	Rotation string
}

// BucketAccess is one bucket of an access, with a mode for each category.
type BucketAccess struct {
	BucketID       string
	ObjectData     Mode
	ObjectMetadata Mode
	BucketMetadata Mode
}

// ServiceAccountRef names a Kubernetes service account.
type ServiceAccountRef struct {
	// Name is set whenever the type is ServiceAccount.
	Name string
	// Namespace is empty if the sidecar does not send it.
	Namespace string
}

// AccountIDRequest asks IDGenerator for the ID of a new account.
type AccountIDRequest struct {
	// Name is unique, 1 to 253 bytes, "ba-" and a UUID.
	Name string
	AccessSpec
}

// GrantAccessRequest asks Driver for an account.
type GrantAccessRequest struct {
	// AccountID is the ID from phase 1.
	AccountID string
	AccessSpec
}

// RevokeAccessRequest asks Driver to remove an account.
type RevokeAccessRequest struct {
	// AccountID is the ID of the grant.
	AccountID string
	// Protocol, AuthType and ServiceAccount are those of the grant.
	Protocol       Protocol
	AuthType       AuthType
	ServiceAccount ServiceAccountRef
	// Parameters of the grant, not checked, as in DeleteBucketRequest.
	Parameters Values
	// BucketIDs of the grant, sorted.
	BucketIDs []string
}

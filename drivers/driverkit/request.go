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

// AuthType is how a workload authenticates.
type AuthType string

// The authentication types of the contract.
const (
	// Key is authentication with a credential returned by GrantAccess.
	Key AuthType = "Key"
	// ServiceAccount is authentication as a Kubernetes service account; no credential is returned.
	ServiceAccount AuthType = "ServiceAccount"
)

// Mode is the permission for one category of access to a bucket.
type Mode string

// The access modes of the contract.
const (
	// Any means that the user did not set a mode for the category. Grant the minimum that makes the other modes
	// useful, and never more than AccessSpec.Disallowed allows.
	Any       Mode = "Any"
	ReadWrite Mode = "ReadWrite"
	ReadOnly  Mode = "ReadOnly"
	WriteOnly Mode = "WriteOnly"
)

// BucketIDRequest asks the IDGenerator for the ID of a new bucket.
type BucketIDRequest struct {
	// Name is unique: "bc-" and a UUID, 1 to 253 bytes.
	Name string
	// Protocols that the bucket must support, sorted; empty lets the driver choose.
	Protocols []Protocol
	// Parameters of the BucketClass.
	Parameters Values
}

// CreateBucketRequest asks the Driver for a new bucket.
type CreateBucketRequest struct {
	// BucketID is the ID from phase 1.
	BucketID string
	// Protocols that the bucket must support, sorted; empty lets the driver choose.
	Protocols []Protocol
	// Parameters of the BucketClass, at the creation of the bucket.
	Parameters Values
	// Update is a change of the bucket, which was created before. It is nil unless a Parameter is Changeable.
	Update *BucketUpdate
}

// BucketUpdate changes parameters of an existing bucket. The driver compares the bucket with Parameters of the
// CreateBucketRequest, as in a repeated creation, and then sets the changed parameters. It must not record them as
// parameters of the creation: all other requests still contain the original ones, and a repeated creation must not revert
// the change. If the bucket no longer exists, the driver returns NotFound.
type BucketUpdate struct {
	// Changed lists the keys of the parameters to set, sorted. Other settings of the bucket remain as they are in the
	// backend.
	Changed []string
	// Parameters are all parameters of the bucket after the change. A changed key may be absent. The kit checks only the
	// changed ones: an earlier version of the driver may have accepted the others.
	Parameters Values
}

// GetBucketRequest asks the Driver about an existing bucket.
type GetBucketRequest struct {
	// BucketID is the ID that the administrator wrote.
	BucketID string
	// Protocols that the bucket must support, sorted; may be empty.
	Protocols []Protocol
	// Parameters that the bucket must match.
	Parameters Values
}

// DeleteBucketRequest asks the Driver to delete a bucket.
type DeleteBucketRequest struct {
	// BucketID is the ID with which the bucket was created.
	BucketID string
	// Parameters with which the bucket was created. The kit does not validate them, because they may come from an
	// older version of the driver.
	Parameters Values
}

// AccessSpec is the access that a workload requests for its account.
type AccessSpec struct {
	// Protocol is the protocol that the workload will use.
	Protocol Protocol
	// AuthType is how the workload will authenticate.
	AuthType AuthType
	// ServiceAccount is set if and only if AuthType is ServiceAccount.
	ServiceAccount ServiceAccountRef
	// Parameters of the BucketAccessClass.
	Parameters Values
	// Buckets of the access, sorted by ID, without duplicates, at least one.
	Buckets []BucketAccess
	// Disallowed lists the modes that the class forbids on every bucket, also in categories that the request leaves
	// unset. The kit rejects requests that name a disallowed mode. The field is not part of an account's identity or
	// of the JSON of this type. An older sidecar does not send it, so after an upgrade of the sidecar, a repeated
	// grant can be the first request that contains it.
	Disallowed DisallowedModes `json:"-"`
	// OnlyPairs means that the caller supports HMAC pairs as the only GCS credential. A GCS driver must reject
	// requests that would create another kind. Like Disallowed, the field is not part of an account's identity.
	OnlyPairs bool `json:"-"`
	// Rotation requests a new credential if it differs from the value of the last grant. The previous credential
	// keeps working; older ones do not. Rotation is empty if no rotation was ever requested.
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
	// Name is set if the authentication type is ServiceAccount.
	Name string
	// Namespace is empty if the sidecar does not send it.
	Namespace string
}

// AccountIDRequest asks the IDGenerator for the ID of a new account.
type AccountIDRequest struct {
	// Name is unique: "ba-" and a UUID, 1 to 253 bytes.
	Name string
	AccessSpec
}

// GrantAccessRequest asks the Driver for an account.
type GrantAccessRequest struct {
	// AccountID is the ID from phase 1.
	AccountID string
	AccessSpec
}

// RevokeAccessRequest asks the Driver to remove an account.
type RevokeAccessRequest struct {
	// AccountID is the ID of the grant.
	AccountID string
	// Protocol, AuthType and ServiceAccount are those of the grant.
	Protocol       Protocol
	AuthType       AuthType
	ServiceAccount ServiceAccountRef
	// Parameters of the grant. As in DeleteBucketRequest, the kit does not validate them.
	Parameters Values
	// BucketIDs of the grant, sorted.
	BucketIDs []string
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Protocol is an object storage protocol.
// +kubebuilder:validation:Enum=S3;Azure;GCS
type Protocol string

// The object storage protocols.
const (
	// ProtocolS3 is the protocol of Amazon S3 and of compatible stores.
	ProtocolS3 Protocol = "S3"
	// ProtocolAzure is the protocol of Azure Blob Storage.
	ProtocolAzure Protocol = "Azure"
	// ProtocolGCS is the protocol of Google Cloud Storage.
	ProtocolGCS Protocol = "GCS"
)

// DeletionPolicy determines what happens to a Bucket when its BucketClaim is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// The deletion policies.
const (
	// DeletionPolicyRetain keeps the Bucket object and the backend bucket.
	DeletionPolicyRetain DeletionPolicy = "Retain"
	// DeletionPolicyDelete deletes the Bucket object and the backend bucket.
	DeletionPolicyDelete DeletionPolicy = "Delete"
)

// AuthenticationType is the way in which a workload authenticates to the backend.
// +kubebuilder:validation:Enum=Key;ServiceAccount
type AuthenticationType string

// The authentication types.
const (
	// AuthenticationTypeKey means keys or tokens in the access Secret.
	AuthenticationTypeKey AuthenticationType = "Key"
	// AuthenticationTypeServiceAccount means that the backend trusts a Kubernetes ServiceAccount.
	AuthenticationTypeServiceAccount AuthenticationType = "ServiceAccount"
)

// MultiBucketAccess determines how many BucketClaims one BucketAccess may reference.
// +kubebuilder:validation:Enum=SingleBucket;MultipleBuckets
type MultiBucketAccess string

// The values of MultiBucketAccess. An omitted value means SingleBucket.
const (
	// MultiBucketAccessSingleBucket allows exactly one BucketClaim.
	MultiBucketAccessSingleBucket MultiBucketAccess = "SingleBucket"
	// MultiBucketAccessMultipleBuckets allows one or more BucketClaims.
	MultiBucketAccessMultipleBuckets MultiBucketAccess = "MultipleBuckets"
)

// Cleanup is the state of the sidecar's cleanup of an access.
// +kubebuilder:validation:Enum=Pending;Finished
type Cleanup string

// The values of Cleanup. An omitted value means that the sidecar keeps no record.
const (
	// CleanupPending means that there may be an account in the backend.
	CleanupPending Cleanup = "Pending"
	// CleanupFinished means that the account is revoked and the Secrets are deleted.
	CleanupFinished Cleanup = "Finished"
)

// BucketAccessMode is a read/write mode. If it is empty, the user does not need
// the access, but the driver may grant it.
// +kubebuilder:validation:Enum=ReadWrite;ReadOnly;WriteOnly
type BucketAccessMode string

// The access modes.
const (
	// BucketAccessModeReadWrite allows reading and writing.
	BucketAccessModeReadWrite BucketAccessMode = "ReadWrite"
	// BucketAccessModeReadOnly allows reading only.
	BucketAccessModeReadOnly BucketAccessMode = "ReadOnly"
	// BucketAccessModeWriteOnly allows writing only.
	BucketAccessModeWriteOnly BucketAccessMode = "WriteOnly"
)

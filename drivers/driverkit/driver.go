// SPDX-License-Identifier: Apache-2.0

package driverkit

import "context"

// Driver is implemented for each storage backend. For every call, the kit guarantees that the request follows the
// rules of the contract and the declarations of Info, and that ctx has a deadline. Within this process, calls for one
// bucket ID or one account ID do not overlap. Calls for different IDs do overlap. The same call may be repeated at
// any time, also after a crash or a lost response, and must then converge to the same result.
//
// Create errors with this package's constructors (InvalidArgument, NotFound, ...); they reach the user with their code
// and sentence. The kit replaces any other error with INTERNAL and a neutral sentence, and logs its text.
type Driver interface {
	// Info returns the driver's declaration. It is called often, must not block, and must work while the backend is
	// down.
	Info() Info
	// CreateBucket ensures that the bucket exists as requested, and describes it. It succeeds if the bucket already
	// exists and matches the request. It returns AlreadyExists if the bucket exists but does not match or has another
	// owner. It applies Update, if set; only drivers with Changeable parameters receive one.
	CreateBucket(ctx context.Context, request CreateBucketRequest) (BucketInfo, error)
	// GetBucket describes a bucket that COSI did not create, and changes nothing. It returns NotFound if there is no
	// such bucket and AlreadyExists if the bucket does not match the parameters.
	GetBucket(ctx context.Context, request GetBucketRequest) (BucketInfo, error)
	// DeleteBucket ensures that the bucket does not exist. A missing bucket is success. It returns FailedPrecondition if
	// the bucket holds data that the driver may not delete.
	DeleteBucket(ctx context.Context, request DeleteBucketRequest) error
	// GrantAccess ensures that the account exists with exactly the requested access, and returns its credential.
	// Repeated calls return the identical credential unless Rotation changed. It returns AlreadyExists if the account
	// exists with other buckets or modes.
	GrantAccess(ctx context.Context, request GrantAccessRequest) (Access, error)
	// RevokeAccess ensures that the account, its credentials and its permissions do not exist. A missing account is
	// success.
	RevokeAccess(ctx context.Context, request RevokeAccessRequest) error
}

// IDGenerator is an optional interface for drivers whose IDs differ from the names that COSI proposes, or that can
// reject a request in phase 1, when there is nothing to undo. Its methods create nothing, make no backend calls, and
// return the same ID for the same request. Distinct names must have distinct IDs. Without this interface, the kit
// uses the proposed names as the IDs.
type IDGenerator interface {
	// BucketID returns the ID that will be passed to CreateBucket.
	BucketID(ctx context.Context, request BucketIDRequest) (string, error)
	// AccountID returns the ID that will be passed to GrantAccess.
	AccountID(ctx context.Context, request AccountIDRequest) (string, error)
}

// PairGranter is an optional interface for GCS drivers whose HMAC pairs can be used by S3 clients. Options.V1Alpha1
// can deliver only such pairs, because cosi.v1alpha1 defines no Google credential.
type PairGranter interface {
	// S3Endpoint returns the URL at which S3 clients can use the bucket with an HMAC pair. It makes no backend calls.
	S3Endpoint(bucketID string) string
}

// Info declares the driver's identity and capabilities. The kit rejects requests for anything else, so the driver
// does not need to check.
type Info struct {
	// Name identifies the driver in classes, such as "s3.example.com": at most 63 bytes, lower-case labels separated by
	// dots.
	Name string
	// Revision changes when configuration that appears in responses changes, such as an endpoint. Optional; at most 253
	// bytes.
	Revision string
	// Protocols that buckets can support. At least one.
	Protocols []Protocol
	// AuthTypes that access can use. Empty means Key only.
	AuthTypes []AuthType
	// MultiBucket lists the authentication types for which one account can access several buckets. With other types,
	// the kit rejects requests for several buckets as OUT_OF_RANGE.
	MultiBucket []AuthType
	// Modes that accesses can request.
	Modes Modes
	// KeepsDisallowedModes declares that GrantAccess and IDGenerator enforce AccessSpec.Disallowed. DriverGetInfo
	// reports it.
	KeepsDisallowedModes bool
	// BucketParameters are the parameters a BucketClass may set for this driver.
	BucketParameters Parameters
	// AccessParameters are the parameters a BucketAccessClass may set for this driver.
	AccessParameters Parameters
}

// Modes lists the access modes that a driver can grant in each category. Any does not need to be listed, because a
// request can always leave a category unset. An empty list means that the category must be left unset.
type Modes struct {
	// ObjectData applies to the contents of objects.
	ObjectData []Mode
	// ObjectMetadata applies to metadata and tags of objects.
	ObjectMetadata []Mode
	// BucketMetadata applies to metadata and configuration of the bucket.
	BucketMetadata []Mode
}

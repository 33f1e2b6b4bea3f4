// SPDX-License-Identifier: Apache-2.0

package driverkit

import "context"

// Driver is a storage backend as COSI sees it. The kit guarantees for every call: the request keeps
// the rules of the contract and the declarations of Info; ctx has a deadline; no two calls for one
// bucket ID, and no two calls for one account ID, overlap in this process. Calls for different IDs
// do overlap. The same call may come again at any time, after a crash or a lost response too, and
// must then converge to the same result.
//
// An error made by this package's constructors (InvalidArgument, NotFound, ...) reaches the user
// with its code and sentence. Any other error becomes INTERNAL with a neutral sentence, while its
// text goes to the log.
type Driver interface {
	// Info declares the driver. It is called often, must not block, and works while the backend is
	// down.
	Info() Info
	// CreateBucket makes sure that the bucket exists as requested and describes it. Existing and
	// fitting is success; existing and not fitting, or owned by somebody else, is AlreadyExists.
	CreateBucket(ctx context.Context, request CreateBucketRequest) (BucketInfo, error)
	// GetBucket describes a bucket that somebody else made, and changes nothing. None is NotFound;
	// one that does not fit the parameters is AlreadyExists.
	GetBucket(ctx context.Context, request GetBucketRequest) (BucketInfo, error)
	// DeleteBucket makes sure that the bucket does not exist. None is success. A bucket that holds
	// data it may not delete is FailedPrecondition.
	DeleteBucket(ctx context.Context, request DeleteBucketRequest) error
	// GrantAccess makes sure that the account exists with exactly the requested access, and
	// returns its credential: the identical one on every repeat, unless Rotation changed. An
	// account that exists for other buckets or modes is AlreadyExists.
	GrantAccess(ctx context.Context, request GrantAccessRequest) (Access, error)
	// RevokeAccess makes sure that the account, its credentials and its permissions do not exist.
	// None is success.
	RevokeAccess(ctx context.Context, request RevokeAccessRequest) error
}

// IDGenerator is implemented by a driver whose IDs are not the names that COSI proposes, or that
// can refuse a request already in phase 1, where there is nothing to undo. Its methods must be
// pure: they create nothing, call no backend, and return the same ID for the same request; distinct
// names have distinct IDs. Without it the names are the IDs.
type IDGenerator interface {
	// BucketID returns the ID that CreateBucket will get.
	BucketID(ctx context.Context, request BucketIDRequest) (string, error)
	// AccountID returns the ID that GrantAccess will get.
	AccountID(ctx context.Context, request AccountIDRequest) (string, error)
}

// PairGranter is implemented by a driver of GCS whose HMAC pairs are of use to clients of S3. Only
// they can be delivered by Options.V1Alpha1, which knows no credential of Google.
type PairGranter interface {
	// S3Endpoint returns the URL at which clients of S3 reach the bucket with an HMAC pair. It calls no
	// backend.
	S3Endpoint(bucketID string) string
}

// Info declares what a driver is and can do. The kit refuses requests for anything else, so that
// the driver need not check.
type Info struct {
	// Name identifies the driver to classes, such as "s3.example.com": at most 63 bytes of
	// lower-case labels with dots between.
	Name string
	// Revision changes when configuration that appears in responses changes, such as an endpoint.
	// Optional; at most 253 bytes.
	Revision string
	// Protocols that buckets can support. At least one.
	Protocols []Protocol
	// AuthTypes that access can use. Empty means Key only.
	AuthTypes []AuthType
	// MultiBucket lists the authentication types with which one account can reach several buckets.
	// With others such a request is OUT_OF_RANGE.
	MultiBucket []AuthType
	// Modes that access can have.
	Modes Modes
	// KeepsDisallowedModes says that GrantAccess and IDGenerator keep AccessSpec.Disallowed. It is
	// announced by DriverGetInfo.
	KeepsDisallowedModes bool
	// BucketParameters are the parameters a BucketClass may set for this driver.
	BucketParameters Parameters
	// AccessParameters are the parameters a BucketAccessClass may set for this driver.
	AccessParameters Parameters
}

// Modes lists the access modes that a driver can grant in each category. Any need not be listed: a
// request can always leave a category open. An empty list means that nothing else can be asked.
type Modes struct {
	// ObjectData is about the contents of objects.
	ObjectData []Mode
	// ObjectMetadata is about metadata and tags of objects.
	ObjectMetadata []Mode
	// BucketMetadata is about metadata and configuration of the bucket.
	BucketMetadata []Mode
}

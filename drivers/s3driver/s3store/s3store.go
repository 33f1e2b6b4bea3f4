// SPDX-License-Identifier: Apache-2.0

// Package s3store defines the interface for adding a type of store to the S3 driver. To add one, implement Type and
// add it to s3driver.Options.Types. The driver manages buckets and interprets access modes, IDs and parameters. The
// Type manages accounts.
//
// See docs/howto/add-a-store.md for an example.
package s3store

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/bucketpolicy"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Accounts manages the accounts of one store. The driver may call every method again after a failure at any point.
// The method must then complete the missing parts. Calls for one account do not overlap.
//
// Return driverkit errors, or unchanged errors of the AWS SDK and of AdminAPI, which the driver translates.
type Accounts interface {
	// Check returns an error for requests that the store cannot satisfy. It makes no calls.
	Check(request Request) error
	// Grant ensures that the account exists with exactly this access, and returns its credential. Requests with the
	// same Rotation must get the identical credential; the functions of package credentials implement this. Return
	// AlreadyExists for an account with this name that lacks the driver's mark or has another Hash. If the credential
	// store serves as the mark, Grant may instead return FailedPrecondition for an account without an entry there,
	// because the entry may have been lost and can be restored.
	Grant(ctx context.Context, request Request) (credentials.Credential, error)
	// Revoke ensures that the account does not exist and that none of its keys work. Only names and IDs of the request
	// are set. Return FailedPrecondition for an account without the driver's mark.
	Revoke(ctx context.Context, request Request) error
	// Ping makes a read-only call that Grant also makes, to check the API and the driver's credentials.
	Ping(ctx context.Context) error
}

// Type is one type of store.
type Type struct {
	// Accounts returns the account manager of one store. It makes no calls. Required.
	Accounts func(store Store) Accounts
	// TagsAtCreation means that the store accepts tags in the call that creates a bucket.
	TagsAtCreation bool
	// PublicAccessBlock means that the store supports the public access block.
	PublicAccessBlock bool
	// SharesPolicies means that one document contains the permissions of all accounts of a bucket, and that the
	// driver updates it by reading and rewriting it.
	SharesPolicies bool
}

// Store is one configured store, as passed to Type.Accounts. All fields except Cluster are set.
type Store struct {
	// S3 is the client of the store, with the driver's own credentials.
	S3 *s3.Client
	// AdminEndpoint is the URL of the store's admin API without a trailing '/': adminEndpoint in the configuration.
	AdminEndpoint string
	// Region is the configured region.
	Region string
	// Credentials are the driver's own.
	Credentials aws.CredentialsProvider
	// HTTP sends requests with the store's certificate authorities and records them in the driver's metrics.
	HTTP aws.HTTPClient
	// Keys is the credential store, for the functions of package credentials.
	Keys credentials.Store
	// Driver and Cluster are the mark of ownership: only resources that carry both belong to the driver. If the store
	// has room for them, write them in the call that creates an account. Otherwise the credential store serves as the
	// mark, because the driver stores every key before it creates the key at the store: use credentials.StoredIDs. In
	// that case, a clone of the cluster with a copy of its credential store also owns the accounts.
	Driver, Cluster string
}

// Admin returns a client for the admin API that signs requests like S3 requests. If its Token is set, it sends the
// token instead.
func (s Store) Admin(name string) *AdminAPI {
	return &AdminAPI{Name: name, Endpoint: s.AdminEndpoint, Region: s.Region, Credentials: s.Credentials, HTTP: s.HTTP}
}

// The parts of a request for an account.
type (
	// Request asks for an account with exactly this access.
	Request = account.Request
	// Bucket is one bucket of an account.
	Bucket = policy.Bucket
	// Access is an account's access to a bucket.
	Access = policy.Access
	// Direction is reading, writing or both in one category.
	Direction = policy.Direction
)

// The directions of access.
const (
	Read  = policy.Read
	Write = policy.Write
)

// Helpers that most stores need.
type (
	// AdminAPI calls the administration API of a store.
	AdminAPI = adminapi.Client
	// AdminCall is one call of an AdminAPI.
	AdminCall = adminapi.Request
	// Dialect describes how a store's policies differ from those of AWS.
	Dialect = policy.Dialect
	// BucketPolicies edits bucket policies, for a store whose bucket policies define the permissions of accounts.
	BucketPolicies = bucketpolicy.Editor
)

// Policy returns an IAM policy that allows exactly the access to these buckets.
func Policy(dialect Dialect, buckets []Bucket) (string, error) { return policy.Build(dialect, buckets) }

// NewKey generates a key for a store that accepts secrets chosen by the driver. The key's ID begins with the account
// name.
func NewKey(name string) credentials.Credential { return account.NewKey(name) }

// NoteBuckets is the name of the note with the names of an account's buckets, separated by spaces, in the credential
// store. The note exists if the Type granted the account with Request.Supplied.
const NoteBuckets = account.NoteBuckets

// IsCode reports whether err is a store error with one of these codes.
func IsCode(err error, codes ...string) bool { return apierror.Is(err, codes...) }

// SPDX-License-Identifier: Apache-2.0

// Package s3store is how a store that the S3 driver does not know becomes one of its types, in a program of one's own: a Type
// in s3driver.Options.Types. The driver makes the buckets, and reads modes, IDs and parameters; a Type manages accounts.
//
// docs/howto/add-a-store.md builds one.
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

// Accounts manages the accounts of one store. Every method may be called again after a failure at any point, and must
// finish then what is missing. No two calls for one account come at a time.
//
// Errors are driverkit's, or those of the AWS SDK and of AdminAPI as they are, which the driver translates.
type Accounts interface {
	// Check refuses what the store cannot do. It makes no calls.
	Check(request Request) error
	// Grant makes sure that the account exists with exactly this access, and returns its credential: the identical one for a
	// request with the same Rotation. One of the functions of package credentials does that. An account of that name
	// without the driver's mark is AlreadyExists, and so is one with another Hash; where the credential store is the mark,
	// the former may be FailedPrecondition: its entry may be lost, and be restored.
	Grant(ctx context.Context, request Request) (credentials.Credential, error)
	// Revoke makes sure that the account does not exist, and that no key of it works. Only names and IDs of the request are
	// set. An account without the driver's mark is FailedPrecondition.
	Revoke(ctx context.Context, request Request) error
	// Ping makes a call that Grant makes too, and that changes nothing.
	Ping(ctx context.Context) error
}

// Type is one type of store.
type Type struct {
	// Accounts makes what manages the accounts of one store. It makes no calls. Required.
	Accounts func(store Store) Accounts
	// TagsAtCreation says that the store takes tags in the call that creates a bucket.
	TagsAtCreation bool
	// PublicAccessBlock says that the store has the switch against public access.
	PublicAccessBlock bool
	// SharesPolicies says that the rights of all accounts of a bucket are one document, which is read, changed and written.
	SharesPolicies bool
}

// Store is one configured store as its accounts see it. All fields but Cluster are set.
type Store struct {
	// S3 is the client of the store, with the driver's own credentials.
	S3 *s3.Client
	// AdminEndpoint is the URL of the store's admin API, without a '/' at its end: adminEndpoint of the configuration.
	AdminEndpoint string
	// Region is that of the configuration.
	Region string
	// Credentials are the driver's own.
	Credentials aws.CredentialsProvider
	// HTTP sends requests with the store's certificate authorities, and counts them in the driver's metrics.
	HTTP aws.HTTPClient
	// Keys is the credential store, for the functions of package credentials.
	Keys credentials.Store
	// Driver and Cluster are the mark of ownership: what carries both is ours, and nothing else. They have to be made
	// together with an account, wherever it has room for them. Where it has none, the credential store, which knows of every
	// key before the store does, is the mark: credentials.StoredIDs. The accounts of a cluster are then also those of a
	// clone that has a copy of its credential store.
	Driver, Cluster string
}

// Admin returns a client of the admin API that signs requests as S3 is signed. With a Token it sends that in its place.
func (s Store) Admin(name string) *AdminAPI {
	return &AdminAPI{Name: name, Endpoint: s.AdminEndpoint, Region: s.Region, Credentials: s.Credentials, HTTP: s.HTTP}
}

// The parts of a request for an account.
type (
	// Request asks for an account with exactly this access.
	Request = account.Request
	// Bucket is one bucket of an account.
	Bucket = policy.Bucket
	// Access is what an account may do with a bucket.
	Access = policy.Access
	// Direction is reading, writing or both, of one category of what a bucket holds.
	Direction = policy.Direction
)

// The directions of access.
const (
	Read  = policy.Read
	Write = policy.Write
)

// What most stores need.
type (
	// AdminAPI calls the administration API of a store.
	AdminAPI = adminapi.Client
	// AdminCall is one call of an AdminAPI.
	AdminCall = adminapi.Request
	// Dialect is how a store differs in its policies from AWS.
	Dialect = policy.Dialect
	// BucketPolicies edits the policies of buckets, for a store whose accounts have their rights there.
	BucketPolicies = bucketpolicy.Editor
)

// Policy returns an IAM policy that allows exactly the access to these buckets.
func Policy(dialect Dialect, buckets []Bucket) (string, error) { return policy.Build(dialect, buckets) }

// NewKey makes a key up, for a store that takes it from its caller; its ID begins with the name of the account.
func NewKey(name string) credentials.Credential { return account.NewKey(name) }

// NoteBuckets is the note of the credential store with the names of an account's buckets, separated by spaces, where
// Request.Supplied was granted.
const NoteBuckets = account.NoteBuckets

// IsCode reports whether the error is the store's, with one of these codes.
func IsCode(err error, codes ...string) bool { return apierror.Is(err, codes...) }

// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"io"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Config selects the driver and the cases. Set either Endpoint or Launcher. Everything else is optional; cases that
// need a missing setting are not applicable.
type Config struct {
	// Endpoint is the address of a running driver, such as unix:///run/cosi/cosi.sock.
	Endpoint string
	// Launcher starts the driver. It enables the cases about the process and about restarts.
	Launcher Launcher
	// Environment contains environment variables for the driver, as KEY=value, in addition to COSI_ENDPOINT.
	Environment []string
	// ImageEnvironment lists the names of environment variables in the driver's image manifest. The suite checks that
	// none of them uses the reserved prefix COSI_.
	ImageEnvironment []string

	// Contract is the contract to test. Empty: V1Alpha2.
	Contract Contract
	// Focus limits the run to the cases for whose IDs it returns true. Nil: all cases.
	Focus func(id string) bool
	// Params are the parameters to send. They depend on the driver, since parameters are opaque to COSI.
	Params Params
	// Authentication lists the authentication types that the driver supports. Empty: KEY.
	Authentication []cosi.AuthenticationType_Type
	// ServiceAccount is the service account that receives access with type SERVICE_ACCOUNT.
	ServiceAccount ServiceAccount
	// Rotation declares that the driver supports the field rotation of DriverGrantBucketAccess.
	Rotation bool
	// SharedCredential declares that the store has no accounts, and that its administrator accepts one credential for
	// all accesses, which cannot be revoked.
	SharedCredential bool
	// CreatesNothing declares that the driver rejects DriverCreateBucket and only uses buckets that an administrator has
	// created. It requires Fixture, which creates the buckets of the cases.
	CreatesNothing bool
	// NonEmptyDelete declares the result of DriverDeleteBucket for a bucket that contains data: "refuse"
	// (FailedPrecondition) or "delete". Empty: not declared.
	NonEmptyDelete string

	// Probers test the permissions of a credential, by protocol. Probers(...) returns the built-in ones.
	Probers map[cosi.ObjectProtocol_Type]Prober
	// Inventory lists the objects in the backend.
	Inventory func(context.Context) ([]Resource, error)
	// Fixture creates buckets without the driver.
	Fixture Fixture
	// Backend causes faults in the backend.
	Backend Backend
	// Objects receives the buckets of the cases of V1Alpha1. A driver that reads Bucket objects needs a Kubernetes API that
	// serves them. Nil: the driver reads none.
	Objects *BucketObjects

	// Journal receives one line for each bucket and account before its creation. Sweep reads the lines to delete the
	// leftovers of a crashed run. Nil: no journal.
	Journal io.Writer
	// Progress receives each result when its case ends. It is not called concurrently. Nil: not called.
	Progress func(Result)
	// Waiting is called before the run waits for the driver. It receives a description of the wait, such as "the driver
	// at unix:///run/cosi/cosi.sock, at most 30s". Nil: not called.
	Waiting func(what string)
	// RunID is part of all names. It has at most 8 characters of [a-z0-9]. Empty: random.
	RunID string
	// Seed makes the random parts of the run repeatable. 0: random.
	Seed uint64

	Limits Limits
}

// Contract is a version of the contract between sidecar and driver.
type Contract string

const (
	// V1Alpha2 is the contract of KEP-1979.
	V1Alpha2 Contract = "v1alpha2"
	// V1Alpha1 is the contract of the v1alpha1 specification, with the services of cosi.v1alpha1.
	V1Alpha1 Contract = "v1alpha1"
)

// Limits are the sizes and durations of a run. Zero fields have the given defaults.
type Limits struct {
	// Repeats is the number of repetitions of a call that must be idempotent: 10.
	Repeats int
	// Names is the number of distinct names that must have distinct IDs: 200.
	Names int
	// Concurrency is the number of concurrent calls: 16.
	Concurrency int
	// Operations is the length of the random sequence of calls: 200.
	Operations int
	// Parallel is the number of cases that run in parallel: 4.
	Parallel int
	// Settle is the maximum time until a grant or revocation takes effect in the backend: 30 s.
	Settle time.Duration
	// Start is the maximum time for the driver to start, or to reject an invalid configuration: 30 s.
	Start time.Duration
	// Stop is the maximum time for the driver to exit after SIGTERM: 10 s.
	Stop time.Duration
	// RPC is the deadline of a call: 60 s.
	RPC time.Duration
	// Case is the deadline of a case: 5 min.
	Case time.Duration
}

// Params are sets of parameters as an administrator would set them in classes.
type Params struct {
	// Bucket contains valid parameters of a BucketClass.
	Bucket map[string]string `json:"bucket,omitempty"`
	// Incompatible contains valid parameters of a BucketClass that do not match a bucket created with the parameters
	// in Bucket.
	Incompatible map[string]string `json:"incompatible,omitempty"`
	// Invalid contains parameters of a BucketClass that the backend does not support.
	Invalid map[string]string `json:"invalid,omitempty"`
	// Changed contains other values of parameters that DriverGetInfo lists as changeable on an existing bucket.
	Changed map[string]string `json:"changed,omitempty"`
	// Access contains valid parameters of a BucketAccessClass.
	Access map[string]string `json:"access,omitempty"`
	// InvalidAccess contains parameters of a BucketAccessClass that the backend does not support.
	InvalidAccess map[string]string `json:"invalidAccess,omitempty"`
}

// ServiceAccount names a Kubernetes service account.
type ServiceAccount struct {
	// Name is the name of the service account.
	Name string `json:"name"`
	// Namespace is the namespace of the service account.
	Namespace string `json:"namespace"`
}

// Resource is one resource in the backend: a bucket, an account, a key, a policy.
type Resource struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Kinds of Resource that the suite counts.
const (
	KindBucket  = "bucket"
	KindAccount = "account"
	KindKey     = "key"
	KindPolicy  = "policy"
)

// Fixture creates buckets as an administrator would, without the driver.
type Fixture interface {
	// BucketID returns the ID of the bucket that MakeBucket creates for a name.
	BucketID(name string) string
	// MakeBucket creates the bucket, which DriverGetBucket must then find.
	MakeBucket(ctx context.Context, name string) error
	// RemoveBucket deletes the bucket; a missing bucket is not an error.
	RemoveBucket(ctx context.Context, name string) error
}

// ForeignFixture is a Fixture that can also create buckets with another owner.
type ForeignFixture interface {
	Fixture
	// TakeName creates the bucket that the driver would create for bucketID, with another owner. It must fail if the
	// bucket already exists, because FreeName deletes what TakeName has created.
	TakeName(ctx context.Context, bucketID string) error
	// FreeName deletes the bucket that TakeName created; a missing bucket is not an error.
	FreeName(ctx context.Context, bucketID string) error
}

// Fault is a state of the backend.
type Fault string

const (
	// BackendDown means that requests to the backend get no response.
	BackendDown Fault = "down"
	// LoginRefused means that the backend rejects the driver's own credentials.
	LoginRefused Fault = "login-refused"
)

// Backend injects faults into the driver's backend.
type Backend interface {
	// Can reports whether the fault is supported.
	Can(fault Fault) bool
	// Break starts the fault, and Mend ends it.
	Break(ctx context.Context, fault Fault) error
	Mend(ctx context.Context, fault Fault) error
}

func (l Limits) withDefaults() Limits {
	l.Repeats = positive(l.Repeats, 10)
	l.Names = positive(l.Names, 200)
	l.Concurrency = positive(l.Concurrency, 16)
	l.Operations = positive(l.Operations, 200)
	l.Parallel = positive(l.Parallel, 4)
	l.Settle = positive(l.Settle, 30*time.Second)
	l.Start = positive(l.Start, 30*time.Second)
	l.Stop = positive(l.Stop, 10*time.Second)
	l.RPC = positive(l.RPC, time.Minute)
	l.Case = positive(l.Case, 5*time.Minute)
	return l
}

func positive[T ~int | ~int64](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

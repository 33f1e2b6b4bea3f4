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
	// Environment is given to the driver in addition to COSI_ENDPOINT, as KEY=value.
	Environment []string
	// ImageEnvironment lists names of environment variables in the image manifest of the driver.
	ImageEnvironment []string

	// Contract is what the driver is held against. Empty: V1Alpha2.
	Contract Contract
	// Focus limits the run to the cases whose ID it accepts. Nil: all.
	Focus func(id string) bool
	// Params are the parameters to send, since parameters are opaque to COSI.
	Params Params
	// Authentication lists the authentication types the driver offers. Empty: KEY.
	Authentication []cosi.AuthenticationType_Type
	// ServiceAccount is the name and namespace to grant to with type SERVICE_ACCOUNT.
	ServiceAccount ServiceAccount
	// Rotation says that the driver knows the field rotation of DriverGrantBucketAccess.
	Rotation bool
	// SharedCredential says that the store has no accounts, and that its administrator accepts one
	// credential for all, which no revoke can end.
	SharedCredential bool
	// CreatesNothing says that the driver makes no buckets: it hands out those that an administrator has made, and refuses
	// DriverCreateBucket. Cases about a bucket that exists take one of Fixture, which is then needed.
	CreatesNothing bool
	// NonEmptyDelete says what DriverDeleteBucket does with a bucket that holds data: "refuse"
	// (FailedPrecondition) or "delete". Empty: not declared.
	NonEmptyDelete string

	// Probers prove what a credential can do, by protocol. Probers(...) returns those built in.
	Probers map[cosi.ObjectProtocol_Type]Prober
	// Inventory lists what exists in the backend.
	Inventory func(context.Context) ([]Resource, error)
	// Fixture makes buckets out of band.
	Fixture Fixture
	// Backend disturbs the backend.
	Backend Backend

	// Journal receives one line for every bucket and account before it is asked for, so that
	// Sweep can remove what a crashed run left. Nil: none.
	Journal io.Writer
	// Progress receives every result as soon as it is there. Nil: none. It is called from one
	// goroutine at a time.
	Progress func(Result)
	// Waiting receives what the run waits for before its first case: "the driver at unix:///run/cosi/cosi.sock, at most
	// 30s". Nil: none.
	Waiting func(what string)
	// RunID is part of all names, at most 8 characters of [a-z0-9]. Empty: random.
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
	// Repeats is how often a call is repeated that must be idempotent: 10.
	Repeats int
	// Names is how many distinct names must give distinct IDs: 200.
	Names int
	// Concurrency is how many calls are made at once: 16.
	Concurrency int
	// Operations is the length of the random sequence: 200.
	Operations int
	// Parallel is how many cases run at once: 4.
	Parallel int
	// Settle is how long the backend may take until a grant or revoke has effect: 30 s.
	Settle time.Duration
	// Start is how long the driver may take to start, and to refuse a wrong configuration: 30 s.
	Start time.Duration
	// Stop is how long the driver may take to end after SIGTERM: 10 s.
	Stop time.Duration
	// RPC is the deadline of a call: 60 s.
	RPC time.Duration
	// Case is the deadline of a case: 5 min.
	Case time.Duration
}

// Params are sets of parameters as an administrator would set them in classes.
type Params struct {
	// Bucket are valid parameters of a BucketClass.
	Bucket map[string]string `json:"bucket,omitempty"`
	// Incompatible are valid on their own, but do not fit a bucket made with Bucket.
	Incompatible map[string]string `json:"incompatible,omitempty"`
	// Invalid are parameters of a BucketClass that the backend cannot serve.
	Invalid map[string]string `json:"invalid,omitempty"`
	// Access are valid parameters of a BucketAccessClass.
	Access map[string]string `json:"access,omitempty"`
	// InvalidAccess are parameters of a BucketAccessClass that the backend cannot serve.
	InvalidAccess map[string]string `json:"invalidAccess,omitempty"`
}

// ServiceAccount names a Kubernetes service account.
type ServiceAccount struct {
	// Name is that of the service account.
	Name string `json:"name"`
	// Namespace is where it is.
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
	// FreeName deletes the bucket again; a missing bucket is not an error.
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

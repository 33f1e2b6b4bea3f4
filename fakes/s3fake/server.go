// SPDX-License-Identifier: Apache-2.0

// Package s3fake is an S3 with IAM, STS and EKS Pod Identity for tests, in process. It enforces: it verifies every
// signature and evaluates every policy, so that a credential that should be refused is refused, with the status and the
// code that AWS documents. It can fail on demand (Faults), remembers every call (Calls) and shows what it holds
// (Inventory).
//
// A Server is an http.Handler; Start adds a listener for clients that need an address. S3, IAM, STS and EKS are served
// on the same port, below URL: point the clients of AWS at it with BaseEndpoint or AWS_ENDPOINT_URL, and address
// buckets path-style unless Options.Domains has a host name for them. A new server holds nothing but its account, whose
// root credentials (Root) may do everything; users, roles and policies are made through its IAM, as with AWS.
//
// All methods may be called concurrently. Nothing is eventually consistent, so that keys and policies count at once,
// unless a fault rule makes reads stale (Options.Past). A call that AWS has and the fake lacks returns 501
// NotImplemented and does nothing.
package s3fake

import (
	"errors"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/eksapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iamapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Server is a running fake.
type Server struct {
	// Faults makes calls fail on demand.
	Faults fault.Injector

	options  Options
	held     backing.Held[state]
	recorder fault.Recorder
	endpoint endpoint.Endpoint
}

// state is what a server holds until Reset.
type state struct {
	options Options
	backing backing.Backing
	store   *store.Store
	account *iam.Account
	s3      *s3api.API
	iam     *iamapi.API
	eks     *eksapi.API
}

// New returns a server. It holds resources until Close.
func New(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults()}
	err := s.held.Open(backing.Options{
		Program: "s3fake", Dir: s.options.Dir, BodyThreshold: s.options.BodyThreshold, Past: s.options.past(),
	}, s.options.load)
	if err != nil {
		return nil, err
	}
	s.Faults.Know(s.Operations(), s.options.Past)
	return s, nil
}

// state is what is held at the moment.
func (s *Server) state() *state { return s.held.Load() }

// Reset makes everything as it was before the first call, with the same root credentials, forgets the calls and removes
// all fault rules. Calls that are in progress may fail. It is an error with Options.Dir.
func (s *Server) Reset() error {
	s.Faults.Clear()
	s.recorder.Reset()
	return s.held.Reset()
}

// load makes what a backing describes.
func (o Options) load(b backing.Backing) (*state, error) {
	s := &state{options: o, backing: b}
	return s, s.load()
}

func (s *state) load() error {
	var err error
	if err := s.openRoot(); err != nil {
		return err
	}
	o := s.options
	if s.store, err = store.New(store.Options{Journal: s.backing.Journal, Blobs: s.backing.Bodies, Now: s.now}); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	s.account, err = iam.New(iam.Options{
		ID: o.AccountID, Partition: o.Partition, RootKey: o.RootAccessKeyID, RootSecret: o.RootSecretAccessKey, ForgetsTags: o.Quirks.ForgetsTags,
		Journal: s.backing.Journal, Now: o.Now,
	})
	if err != nil {
		return fmt.Errorf("open the account: %w", err)
	}
	s.s3 = s3api.New(s3api.Options{
		Store: s.store, Account: s.account, Region: o.Region, Domains: o.Domains, OpenBuckets: o.OpenBuckets,
		LocationOnly: o.Quirks.LocationOnly, NoBucketTags: o.Quirks.NoBucketTags, KMSKeys: o.KMSKeys, Now: o.Now,
	})
	tokens := &iamapi.TokenVerifier{Client: o.Issuers, Now: o.Now}
	s.iam = iamapi.New(s.account, tokens)
	s.eks, err = eksapi.New(eksapi.Options{Account: s.account, Journal: s.backing.Journal, Region: o.Region, Clusters: o.Clusters, Tokens: tokens, Now: o.Now})
	if err != nil {
		return fmt.Errorf("open EKS: %w", err)
	}
	return nil
}

// before is everything as it was, which the journal describes.
func (s *state) before(was journal.Journal) (*state, error) {
	return s.options.load(s.backing.Before(was))
}

// now is the store's clock: S3 keeps milliseconds.
func (s *state) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// openRoot takes the root credentials from the options, from the journal, or invents them.
func (s *state) openRoot() error {
	o := &s.options
	stored, err := rootOf(s.backing.Journal)
	if err != nil {
		return err
	}
	if o.RootAccessKeyID == "" {
		o.RootAccessKeyID, o.RootSecretAccessKey = stored.AccessKeyID, stored.SecretAccessKey
	}
	if o.RootAccessKeyID == "" {
		o.RootAccessKeyID, o.RootSecretAccessKey = iam.NewRoot()
	}
	if o.RootSecretAccessKey == "" {
		return errors.New("root access key without a secret: set RootSecretAccessKey as well, or neither")
	}
	if stored == s.root() {
		return nil
	}
	return saveRoot(s.backing.Journal, s.root())
}

// Root returns the account's root credentials.
func (s *Server) Root() Credentials { return s.state().root() }

func (s *state) root() Credentials {
	return Credentials{s.options.RootAccessKeyID, s.options.RootSecretAccessKey}
}

// Region is the region that is served.
func (s *Server) Region() string { return s.options.Region }

// Start listens and serves until Close.
func (s *Server) Start() error {
	return s.endpoint.Start(endpoint.Options{Name: "s3fake", Address: s.options.Address, Handler: s, TLS: s.options.TLS, Malformed: s3api.Malformed()})
}

// URL is the endpoint for S3, IAM and STS, "" before Start.
func (s *Server) URL() string { return s.endpoint.URL() }

// Close stops serving, ends open connections and releases everything. Data in Options.Dir stays.
func (s *Server) Close() error { return errors.Join(s.endpoint.Close(), s.held.Close()) }

// Calls returns every call so far, failed ones included, in the order in which they ended.
func (s *Server) Calls() []fault.Call { return s.recorder.Calls() }

// ForgetCalls empties the record of calls.
func (s *Server) ForgetCalls() { s.recorder.Reset() }

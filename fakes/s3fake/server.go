// SPDX-License-Identifier: Apache-2.0

// Package s3fake is an in-process fake of S3 with IAM, STS and EKS Pod Identity, for tests. It enforces access
// control. It verifies every signature and evaluates every policy. It rejects invalid credentials and denied requests
// with the documented status and code. It can fail on demand (Faults), records every call (Calls) and lists its
// contents (Inventory).
//
// A Server is an http.Handler; Start adds a listener for clients that need an address. S3, IAM, STS and EKS are
// served at the same address, which URL returns. Configure AWS clients with BaseEndpoint or AWS_ENDPOINT_URL, and use
// path-style addresses unless Options.Domains contains a host name. A new server contains only its account, whose
// root credentials (Root) have all permissions. Create users, roles and policies through IAM, as with AWS.
//
// All methods are safe for concurrent use. Changes of keys and policies take effect immediately, unless a fault rule
// makes reads stale (Options.Past). If the fake does not implement a call that AWS supports, the call returns 501
// NotImplemented and has no effect.
package s3fake

import (
	"errors"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/eksapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iamapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/sqsapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Server is a running fake.
type Server struct {
	// Faults injects failures into calls.
	Faults fault.Injector

	options  Options
	held     backing.Held[state]
	recorder fault.Recorder
	endpoint endpoint.Endpoint
}

// state is the contents of a server until Reset.
type state struct {
	options Options
	backing backing.Backing
	store   *store.Store
	account *iam.Account
	s3      *s3api.API
	iam     *iamapi.API
	eks     *eksapi.API
	sqs     *sqsapi.API
}

// New returns a server. Call Close to release its resources.
func New(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults()}
	var err error
	if s.options.webhooks, err = notify.NewWebhooks(s.options.Webhooks, s.options.Log); err != nil {
		return nil, err
	}
	err = s.held.Open(backing.Options{
		Program: "s3fake", Dir: s.options.Dir, BodyThreshold: s.options.BodyThreshold, Past: s.options.Past, Now: s.options.Now,
	}, s.options.load)
	if err != nil {
		return nil, err
	}
	s.Faults.Know(s.Operations(), s.options.Past)
	return s, nil
}

// state returns the current contents.
func (s *Server) state() *state { return s.held.Load() }

// Reset restores the initial state with the same root credentials, clears the record of calls and removes all fault
// rules. Calls in progress may fail. Reset returns an error if Options.Dir is set.
func (s *Server) Reset() error {
	s.Faults.Clear()
	s.recorder.Reset()
	if err := s.held.Reset(); err != nil {
		return err
	}
	s.options.webhooks.Reset()
	return nil
}

// load restores the state from a backing.
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
	if s.sqs, err = sqsapi.New(sqsapi.Options{Account: s.account, Journal: s.backing.Journal, Region: o.Region, Now: o.Now}); err != nil {
		return fmt.Errorf("open SQS: %w", err)
	}
	s.s3 = s3api.New(s3api.Options{
		Store: s.store, Account: s.account, Events: s.newHub(), Region: o.Region, Domains: o.Domains, OpenBuckets: o.OpenBuckets, RefuseVersion2: o.RefuseSignatureV2,
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

// now is the store's clock, with S3's resolution of milliseconds.
func (s *state) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// openRoot takes the root credentials from the options or the journal, or generates them.
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
		return errors.New("RootAccessKeyID is set without RootSecretAccessKey; set both or neither")
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

// Region returns the server's own region, Options.Region.
func (s *Server) Region() string { return s.options.Region }

// Start listens and serves until Close.
func (s *Server) Start() error {
	return s.endpoint.Start(endpoint.Options{Name: "s3fake", Address: s.options.Address, Handler: s, TLS: s.options.TLS, Malformed: s3api.Malformed()})
}

// URL returns the endpoint for S3, IAM and STS, or "" before Start.
func (s *Server) URL() string { return s.endpoint.URL() }

// Close stops serving, closes open connections and releases all resources. Data in Options.Dir is kept.
func (s *Server) Close() error {
	err := s.endpoint.Close()
	s.options.webhooks.Close()
	return errors.Join(err, s.held.Close())
}

// Calls returns all calls so far, including failed ones, in the order in which they ended.
func (s *Server) Calls() []fault.Call { return s.recorder.Calls() }

// ForgetCalls clears the record of calls.
func (s *Server) ForgetCalls() { s.recorder.Reset() }

// SPDX-License-Identifier: Apache-2.0

// Package gcsfake is an in-process fake of Google Cloud Storage with IAM, for tests. It enforces access control. It
// verifies every token and signature and evaluates every allow policy. It rejects invalid credentials and denied
// requests with the documented status and reason. It can fail on demand (Faults), records every call (Calls) and
// lists its contents (Inventory).
//
// A Server is an http.Handler; Start adds a listener for clients that need an address. All APIs are served at one
// address, which URL returns, at these paths:
//
//	/storage/v1/, /upload/storage/v1/, /download/storage/v1/   JSON API
//	/                                                          XML API, path-style (all other paths)
//	/google.storage.v2.Storage/                                gRPC API, over HTTP/2
//	/v1/projects/P/serviceAccounts, .../keys, /v1/projects/P/roles   IAM API
//	/v1/projects/P/serviceAccounts/A:generateAccessToken       IAM Service Account Credentials API
//	/v1/projects/P, P:getIamPolicy, :setIamPolicy, :testIamPermissions   Resource Manager API
//	/token                                                     OAuth token endpoint (JWT bearer grant)
//	/v1/token                                                  Security Token Service (token exchange)
//
// Create the official clients as follows, where key is AdminKey or a key returned by keys.create:
//
//	storage.NewClient(ctx, option.WithEndpoint(server.URL()+"/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
//	storage.NewGRPCClient(ctx) // with STORAGE_EMULATOR_HOST_GRPC
//	iam.NewService(ctx, option.WithEndpoint(server.URL()+"/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
//
// The token_uri in the key refers to this server. If STORAGE_EMULATOR_HOST is set, Google's clients send no credentials,
// and their calls have only the permissions of allUsers unless Options.AnonymousIs names an account for them. In external
// account credentials (workload identity), token_url is URL + "/v1/token", and the audience is
// //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER. S3 clients use
// URL as the endpoint with an HMAC key and path-style addresses, in any region.
//
// A new server has no buckets. Each project has one service account with all permissions in the project (AdminEmail).
// All methods are safe for concurrent use. Changes of keys, bindings and states take effect immediately. Use Faults
// to simulate propagation delays and stale reads; stale reads require Options.Past. If the fake does not implement a
// call that Google supports, the call has no effect and returns 400 with the reason notImplemented, which clients do
// not retry.
package gcsfake

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/grpcapi"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
)

// Server is a running fake.
type Server struct {
	// Faults injects failures into calls.
	Faults fault.Injector

	options  Options
	held     backing.Held[state]
	recorder fault.Recorder
	endpoint endpoint.Endpoint
	grpc     *grpcapi.Server
}

// state is the contents of a server until Reset.
type state struct {
	options   Options
	backing   backing.Backing
	store     *store.Store
	directory *identity.Directory
	api       *rest.API
}

// New returns a server. Call Close to release its resources.
func New(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults()}
	err := s.held.Open(backing.Options{Program: "gcsfake", Dir: s.options.Dir, BodyThreshold: s.options.BodyThreshold, Past: s.options.Past, Now: s.options.Now}, s.options.load)
	if err != nil {
		return nil, err
	}
	s.Faults.Know(Operations(), s.options.Past)
	s.grpc = grpcapi.New(s)
	return s, nil
}

// state returns the current contents.
func (s *Server) state() *state { return s.held.Load() }

// Reset restores the initial state with the same keys, clears the record of calls and removes all fault rules. Tokens
// that were issued before remain valid. Calls in progress may fail. Reset returns an error if Options.Dir is set.
func (s *Server) Reset() error {
	s.Faults.Clear()
	s.recorder.Reset()
	return s.held.Reset()
}

// load restores the state from a backing.
func (o Options) load(b backing.Backing) (*state, error) {
	s := &state{options: o, backing: b}
	return s, s.load()
}

func (s *state) load() error {
	var err error
	o := s.options
	if s.store, err = store.New(store.Options{Journal: s.backing.Journal, Bodies: s.backing.Bodies, Now: s.now}); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	projects := make([]identity.Project, len(o.Projects))
	for i, p := range o.Projects {
		projects[i] = identity.Project{ID: p.ID, Number: p.Number}
	}
	if s.directory, err = identity.New(identity.Options{Journal: s.backing.Journal, Projects: projects, Now: o.Now}); err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	for _, p := range o.Projects {
		if err := s.openAdmin(p.ID); err != nil {
			return err
		}
	}
	for _, p := range o.Pools {
		if err := s.addPool(p); err != nil {
			return err
		}
	}
	s.api = rest.New(rest.Options{
		Store: s.store, Directory: s.directory, Issuers: o.Issuers, Now: s.now,
		Anonymous: o.AnonymousIs, Project: o.Projects[0].ID, OneProject: o.OneProject, OpenProject: s.openProject,
	})
	return nil
}

// now is the store's clock, with the API's resolution of milliseconds.
func (s *state) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// AddPool adds a workload identity pool to the running server.
func (s *Server) AddPool(p Pool) error { return s.state().addPool(p) }

func (s *state) addPool(p Pool) error {
	p.Project = cmp.Or(p.Project, s.options.Projects[0].ID)
	if err := s.directory.AddPool(identity.Pool(p)); err != nil {
		return fmt.Errorf("add workload identity pool %s: %w", p.ID, err)
	}
	return nil
}

// SelfSigned creates a certificate authority and a server certificate for the hosts (names or IP addresses; localhost
// and the loopback addresses are always included). It returns the configuration for Options.TLS, and the authority as
// PEM, which clients must trust.
func SelfSigned(hosts ...string) (*tls.Config, []byte, error) { return selfsigned.New(hosts...) }

// Start listens and serves until Close.
func (s *Server) Start() error {
	return s.endpoint.Start(endpoint.Options{Name: "gcsfake", Address: s.options.Address, Handler: s, TLS: s.options.TLS, GRPC: true})
}

// URL returns the address of the server without a trailing slash, or "" before Start.
func (s *Server) URL() string { return s.endpoint.URL() }

// Close stops serving, closes open connections and releases all resources. Data in Options.Dir is kept.
func (s *Server) Close() error {
	s.grpc.Close()
	return errors.Join(s.endpoint.Close(), s.held.Close())
}

// Calls returns all calls so far, including failed ones, in the order in which they ended.
func (s *Server) Calls() []fault.Call { return s.recorder.Calls() }

// ForgetCalls clears the record of calls.
func (s *Server) ForgetCalls() { s.recorder.Reset() }

// Operations returns the names of all implemented operations. They are the names in Google's discovery documents, and
// xml.NAME for the XML API.
func Operations() []string { return rest.Operations() }

// SPDX-License-Identifier: Apache-2.0

// Package gcsfake is a Google Cloud Storage with IAM for tests, in process. It enforces: it verifies every token and
// signature and evaluates every allow policy, so that a credential that should be refused is refused, with the status
// and the reason that Google documents. It can fail on demand (Faults), remembers every call (Calls) and shows what it
// holds (Inventory).
//
// A Server is an http.Handler; Start adds a listener for clients that need an address. Everything is served on one
// port, below URL:
//
//	/storage/v1/, /upload/storage/v1/, /download/storage/v1/   JSON API
//	/                                                          XML API, path-style, everything that is not below
//	/v1/projects/P/serviceAccounts, .../keys, /v1/projects/P/roles   IAM API
//	/v1/projects/P/serviceAccounts/A:generateAccessToken       IAM Service Account Credentials API
//	/v1/projects/P, P:getIamPolicy, :setIamPolicy, :testIamPermissions   Resource Manager API
//	/token                                                     OAuth token endpoint (JWT bearer grant)
//	/v1/token                                                  Security Token Service (token exchange)
//
// So official clients are pointed at it with
//
//	storage.NewClient(ctx, option.WithEndpoint(server.URL()+"/storage/v1/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
//	iam.NewService(ctx, option.WithEndpoint(server.URL()+"/"), option.WithAuthCredentialsJSON(option.ServiceAccount, key))
//
// where key is AdminKey, or what keys.create returned: its token_uri is this server's. STORAGE_EMULATOR_HOST must not
// be set: it turns authentication off in the client, and every call would be refused here. External account credentials
// (workload identity) have token_url = URL + "/v1/token" and as audience
// //iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER. S3-style clients
// use URL as endpoint with an HMAC key and path-style addresses, in any region.
//
// A new server has no buckets and one service account per project, AdminEmail, that may do everything there. All
// methods may be called concurrently. Nothing is eventually consistent: keys, bindings and states count at once. Delays
// of propagation are for Faults, and so are stale reads (Options.Past). A call that Google has and the fake lacks returns
// 400 with the reason notImplemented, which no client repeats, and does nothing.
package gcsfake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/backing"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
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
	options   Options
	backing   backing.Backing
	store     *store.Store
	directory *identity.Directory
	api       *rest.API
}

// New returns a server. It holds resources until Close.
func New(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults()}
	err := s.held.Open(backing.Options{Program: "gcsfake", Dir: s.options.Dir, BodyThreshold: s.options.BodyThreshold, Past: s.options.past()}, s.options.load)
	if err != nil {
		return nil, err
	}
	s.Faults.Know(Operations(), s.options.Past)
	return s, nil
}

// state is what is held at the moment.
func (s *Server) state() *state { return s.held.Load() }

// Reset makes everything as it was before the first call, with the same keys, forgets the calls and removes all fault
// rules. Tokens that were issued before stay valid. Calls that are in progress may fail. It is an error with Options.Dir.
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
	s.api = rest.New(rest.Options{Store: s.store, Directory: s.directory, Issuers: o.Issuers, Now: s.now})
	return nil
}

// before is everything as it was, which the journal describes.
func (s *state) before(was journal.Journal) (*state, error) {
	return s.options.load(s.backing.Before(was))
}

// now is the store's clock: the API shows milliseconds.
func (s *state) now() time.Time { return s.options.Now().UTC().Truncate(time.Millisecond) }

// AddPool adds a workload identity pool to the running server.
func (s *Server) AddPool(p Pool) error { return s.state().addPool(p) }

func (s *state) addPool(p Pool) error {
	if p.Project == "" {
		p.Project = s.options.Projects[0].ID
	}
	if err := s.directory.AddPool(identity.Pool(p)); err != nil {
		return fmt.Errorf("add workload identity pool %s: %w", p.ID, err)
	}
	return nil
}

// SelfSigned makes a certificate authority and a server certificate for the hosts (names or IP addresses; localhost
// and the loopback addresses are always included). It returns the configuration for Options.TLS and the authority as
// PEM, which clients must trust.
func SelfSigned(hosts ...string) (*tls.Config, []byte, error) { return selfsigned.New(hosts...) }

// Start listens and serves until Close.
func (s *Server) Start() error {
	return s.endpoint.Start(endpoint.Options{Name: "gcsfake", Address: s.options.Address, Handler: s, TLS: s.options.TLS})
}

// URL is the address of the server without a trailing slash, "" before Start.
func (s *Server) URL() string { return s.endpoint.URL() }

// Close stops serving, ends open connections and releases everything. Data in Options.Dir stays.
func (s *Server) Close() error { return errors.Join(s.endpoint.Close(), s.held.Close()) }

// Calls returns every call so far, failed ones included, in the order in which they ended.
func (s *Server) Calls() []fault.Call { return s.recorder.Calls() }

// ForgetCalls empties the record of calls.
func (s *Server) ForgetCalls() { s.recorder.Reset() }

// Operations returns the names of all served operations: those of the discovery documents, and xml.NAME for the XML
// API.
func Operations() []string { return rest.Operations() }

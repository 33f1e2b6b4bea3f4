// SPDX-License-Identifier: Apache-2.0

// Package azurefake is an in-process fake of the Azure Blob service and its directory, for tests. It enforces access
// control. It verifies every signature and evaluates stored access policies and role assignments on every call. It
// rejects the same requests as the service, with the documented status and code. It can fail on demand (Faults),
// records every call (Calls) and lists its contents (Inventory).
//
// A Server is an http.Handler; Start adds a listener for clients that need an address. AccountURL returns the URL of
// an account's Blob service. The Microsoft Entra login, and the Azure Resource Manager calls for identities, roles
// and account keys, are served at the address that URL returns. A new server has the storage accounts in
// Options.Accounts. Keys returns an account's keys, and AddPrincipal creates an application that can log in with a
// secret. Azure clients send tokens only over HTTPS. If clients log in, set Options.TLS, for example with SelfSigned.
//
// All methods are safe for concurrent use. Changes to keys, policies and role assignments take effect immediately,
// unless a fault rule makes reads stale (Options.Past). If a request uses a call, header or parameter that the fake
// does not implement, the fake responds with status 400 and a message that names the call, header or parameter.
package azurefake

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/blobapi"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/management"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/fault"
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
}

// state is the contents of a server until Reset.
type state struct {
	options   Options
	backing   backing.Backing
	store     *store.Store
	directory *access.Directory
	blobs     *blobapi.API
	// management serves the calls of Azure Resource Manager.
	management *management.API
}

// New returns a server. Call Close to release its resources.
func New(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults()}
	err := s.held.Open(backing.Options{Program: "azurefake", Dir: s.options.Dir, BodyThreshold: s.options.BodyThreshold, Past: s.options.Past, Now: s.options.Now}, s.options.load)
	if err != nil {
		return nil, err
	}
	s.Faults.Know(Operations(), s.options.Past)
	return s, nil
}

// state returns the current contents.
func (s *Server) state() *state { return s.held.Load() }

// Reset restores the initial state with the same keys and tenant, clears the record of calls and removes all fault
// rules. Running calls may fail. It returns an error if Options.Dir is set.
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
	if s.store, err = store.New(store.Options{Journal: s.backing.Journal, Bodies: s.backing.Bodies, Now: s.now, Deletion: o.Deletion}); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if s.directory, err = access.NewDirectory(s.backing.Journal, o.Now); err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	for _, a := range o.Accounts {
		if err := s.openAccount(a); err != nil {
			return err
		}
	}
	s.management = management.New(management.Options{Directory: s.directory, Subscription: o.Subscription, Group: o.ResourceGroup})
	s.blobs = blobapi.New(blobapi.Options{Store: s.store, Directory: s.directory, Domains: o.Domains, Resource: o.resourceID, Versioning: o.Versioning, Now: s.now})
	return nil
}

// Operations returns the names of all operations, as used in the record of calls and in fault rules. Operations of
// Azure Resource Manager are named as in the SDK, and those of the login have the form "login:Name".
func Operations() []string {
	return slices.Concat(access.Operations(), management.Operations(), []string{"login:Discover", "login:Token"})
}

// now is the store's clock, with the service's resolution of tenths of microseconds.
func (s *state) now() time.Time { return s.options.Now().UTC().Truncate(100 * time.Nanosecond) }

var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// openAccount takes the keys of an account from the options or the journal, or generates them.
func (s *state) openAccount(a Account) error {
	if !accountName.MatchString(a.Name) || a.Name == managementRoot {
		return fmt.Errorf("storage account %q: the name must be 3 to 24 lower-case letters and digits", a.Name)
	}
	if a.KeepsContainers < 0 || a.KeepsContainers > access.MaxRetention {
		return fmt.Errorf("storage account %s: the retention of deleted containers is %d days; it must be 0 to %d", a.Name, a.KeepsContainers, access.MaxRetention)
	}
	for _, key := range []string{a.Key, a.Key2} {
		if _, err := base64.StdEncoding.DecodeString(key); err != nil {
			return fmt.Errorf("storage account %s: the key is not base64: %w", a.Name, err)
		}
	}
	stored, known := s.directory.Account(a.Name)
	if !known {
		stored = access.Account{Name: a.Name, Keys: [2]string{access.NewKey(), access.NewKey()}}
	}
	next := stored
	next.Keys = [2]string{cmp.Or(a.Key, stored.Keys[0]), cmp.Or(a.Key2, stored.Keys[1])}
	next.SharedKeyOff, next.KeepsContainers = a.SharedKeyOff, cmp.Or(a.KeepsContainers, stored.KeepsContainers)
	if known && next == stored {
		return nil
	}
	if err := s.directory.PutAccount(next); err != nil {
		return fmt.Errorf("storage account %s: %w", a.Name, err)
	}
	return nil
}

// Keys returns key1 and key2 of an account, or empty strings if the account does not exist.
func (s *Server) Keys(account string) (key1, key2 string) {
	a, _ := s.state().directory.Account(account)
	return a.Keys[0], a.Keys[1]
}

// RegenerateKey replaces key1 or key2 of an account and returns the new key. The server then rejects signatures with
// the old key.
func (s *Server) RegenerateKey(account, name string) (string, error) {
	which, ok := map[string]int{"key1": 0, "key2": 1}[name]
	if !ok {
		return "", fmt.Errorf("regenerate a key of %s: %q is not key1 or key2", account, name)
	}
	a, err := s.state().directory.ChangeAccount(account, func(a *access.Account) { a.Keys[which] = access.NewKey() })
	if err != nil {
		return "", fmt.Errorf("regenerate a key: %w", err)
	}
	return a.Keys[which], nil
}

// RevokeDelegationKeys invalidates all user delegation keys that were created for an account before this call, even
// if they have not expired.
func (s *Server) RevokeDelegationKeys(account string) error {
	_, err := s.state().directory.ChangeAccount(account, func(a *access.Account) { a.DelegationEpoch++ })
	if err != nil {
		return fmt.Errorf("revoke user delegation keys: %w", err)
	}
	return nil
}

// ResourceID returns the resource ID of an account. It is the prefix of the scopes of role assignments in the
// account.
func (s *Server) ResourceID(account string) string { return s.options.resourceID(account) }

func (o Options) resourceID(account string) string {
	return o.groupID() + "/providers/Microsoft.Storage/storageAccounts/" + account
}

// SubscriptionID returns the ID of the subscription that contains all accounts and identities.
func (s *Server) SubscriptionID() string { return s.options.Subscription }

// ResourceGroup returns the name of the resource group that contains all accounts and identities.
func (s *Server) ResourceGroup() string { return s.options.ResourceGroup }

// GroupID returns the resource ID of the resource group.
func (s *Server) GroupID() string { return s.options.groupID() }

func (o Options) groupID() string {
	return "/subscriptions/" + o.Subscription + "/resourceGroups/" + o.ResourceGroup
}

// TenantID returns the UUID of the directory.
func (s *Server) TenantID() string { return s.state().directory.TenantID() }

// SelfSigned creates a certificate authority and a server certificate for the hosts (names or IP addresses; localhost
// and the loopback addresses are always included). It returns the configuration for Options.TLS, and the authority as
// PEM, which clients must trust.
func SelfSigned(hosts ...string) (*tls.Config, []byte, error) { return selfsigned.New(hosts...) }

// Start listens and serves until Close.
func (s *Server) Start() error {
	return s.endpoint.Start(endpoint.Options{Name: "azurefake", Address: s.options.Address, Handler: s, TLS: s.options.TLS})
}

// URL returns the address of the server, or "" before Start. For the endpoint of an account, use AccountURL.
func (s *Server) URL() string { return s.endpoint.URL() }

// AccountURL returns the path-style endpoint of an account, without a trailing slash.
func (s *Server) AccountURL(account string) string { return s.URL() + "/" + account }

// Close stops serving, closes open connections and releases all resources. Data in Options.Dir is kept.
func (s *Server) Close() error { return errors.Join(s.endpoint.Close(), s.held.Close()) }

// Calls returns all calls so far, including failed ones, in the order in which they ended.
func (s *Server) Calls() []fault.Call { return s.recorder.Calls() }

// ForgetCalls clears the record of calls.
func (s *Server) ForgetCalls() { s.recorder.Reset() }

// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// Store is the storage system. It contains buckets with objects, accounts with keys, and a policy for each bucket. Its
// state does not end with the driver. If the Store has a file, its state does not end with the process either.
type Store struct {
	mu    sync.Mutex
	path  string
	state state
}

type state struct {
	Buckets  map[string]*bucketState  `json:"buckets"`
	Accounts map[string]*accountState `json:"accounts"`
	Keys     map[string]*keyState     `json:"keys"`
	Faults   map[sanity.Fault]bool    `json:"faults"`
}

// bucketState is one bucket, by its name.
type bucketState struct {
	// Owner is the driver, an administrator, or another owner.
	Owner string `json:"owner"`
	// Protocols that the bucket supports, sorted.
	Protocols  []cosi.ObjectProtocol_Type `json:"protocols"`
	Parameters map[string]string          `json:"parameters"`
	// Current are the parameters after changes, or nil if there were none.
	Current map[string]string `json:"current,omitempty"`
	Objects map[string][]byte `json:"objects"`
	Tags    map[string]string `json:"tags"`
	// Policy contains the permissions of each account, by account ID.
	Policy map[string]modes `json:"policy"`
	// Public means that everyone may read.
	Public bool `json:"public"`
	// Ready means that the last step of the creation was completed.
	Ready bool `json:"ready"`
}

// accountState is one account, by its ID.
type accountState struct {
	// Granted is the request, for comparison.
	Granted string `json:"granted"`
	// ServiceAccount is the "namespace/name" that may use the account, or empty for accounts with keys.
	ServiceAccount string `json:"serviceAccount"`
	// Buckets are the IDs of the granted buckets, sorted.
	Buckets []string `json:"buckets"`
	// Rotation is the last value of the rotation field.
	Rotation string `json:"rotation"`
	// Current and Previous are key IDs.
	Current  string `json:"current"`
	Previous string `json:"previous"`
	// Used means that a key of the account was used.
	Used bool `json:"used"`
}

// keyState is a live key, by its ID.
type keyState struct {
	Account string `json:"account"`
	Secret  string `json:"secret"`
}

// modes are the permissions of an account on a bucket.
type modes struct {
	Read          bool `json:"read"`
	Write         bool `json:"write"`
	MetadataRead  bool `json:"metadataRead"`
	MetadataWrite bool `json:"metadataWrite"`
	BucketRead    bool `json:"bucketRead"`
	BucketWrite   bool `json:"bucketWrite"`
}

const (
	ownerDriver = "driver"
	ownerAdmin  = "administrator"
	ownerOther  = "another owner"
)

var (
	errDown    = errors.New("the storage system does not respond")
	errRefused = errors.New("the storage system rejects the driver's login")
)

// NewStore returns an empty storage system. If path is set, its state is kept in that file, which several processes
// may use concurrently.
func NewStore(path string) *Store { return &Store{path: path, state: emptyState()} }

func emptyState() state {
	return state{
		Buckets: map[string]*bucketState{}, Accounts: map[string]*accountState{}, Keys: map[string]*keyState{},
		Faults: map[sanity.Fault]bool{},
	}
}

// admin runs a function on the state, bypassing authentication and faults.
func (s *Store) admin(do func(*state) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return do(&s.state)
	}
	return s.withFile(do)
}

// driver runs a function on the state as a request of the driver.
func (s *Store) driver(do func(*state) error) error {
	return s.admin(func(state *state) error {
		switch {
		case state.Faults[sanity.BackendDown]:
			return errDown
		case state.Faults[sanity.LoginRefused]:
			return errRefused
		}
		return do(state)
	})
}

// withFile loads the state, runs the function, and stores the state, under a file lock.
func (s *Store) withFile(do func(*state) error) (err error) {
	lock, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("read or write the store %s: %w", s.path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("read or write the store %s: %w", s.path, err)
	}
	state := emptyState()
	text, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read or write the store %s: %w", s.path, err)
	default:
		if err := json.Unmarshal(text, &state); err != nil {
			return fmt.Errorf("read or write the store %s: %w", s.path, err)
		}
	}
	result := do(&state)
	if text, err = json.Marshal(state); err != nil {
		return fmt.Errorf("read or write the store %s: %w", s.path, err)
	}
	next := filepath.Join(filepath.Dir(s.path), filepath.Base(s.path)+".next")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("read or write the store %s: %w", s.path, err)
	}
	return errors.Join(result, os.Rename(next, s.path))
}

// Inventory lists everything in the store.
func (s *Store) Inventory() ([]sanity.Resource, error) {
	var found []sanity.Resource
	err := s.admin(func(state *state) error {
		for name, bucket := range state.Buckets {
			found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: name})
			for account := range bucket.Policy {
				found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: name + " for " + account})
			}
		}
		for id := range state.Accounts {
			found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: id})
		}
		for id, key := range state.Keys {
			found = append(found, sanity.Resource{Kind: sanity.KindKey, Name: key.Account + "/" + id})
		}
		return nil
	})
	return found, err
}

// newKey adds a key for an account and returns its ID.
func (s *state) newKey(account, secret string) string {
	id := "KEY" + rand.Text()[:12]
	if secret == "" {
		secret = rand.Text() + rand.Text()
	}
	s.Keys[id] = &keyState{Account: account, Secret: secret}
	return id
}

// keysOf returns the IDs of an account's live keys. Without defects, it returns the known ones; a defect can leave
// others.
func (d *Driver) keysOf(s *state, account string, known ...string) []string {
	if len(d.options.Defects) == 0 {
		return known
	}
	var ids []string
	for id, key := range s.Keys {
		if key.Account == account {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// account returns the account that a secret belongs to.
func (s *state) account(secret string) (string, bool) {
	for _, key := range s.Keys {
		if secret != "" && key.Secret == secret {
			return key.Account, true
		}
	}
	return "", false
}

func newBucket(owner string, protocols []cosi.ObjectProtocol_Type, parameters map[string]string) *bucketState {
	return &bucketState{
		Owner: owner, Protocols: slices.Sorted(slices.Values(protocols)), Parameters: maps.Clone(parameters),
		Objects: map[string][]byte{}, Tags: map[string]string{}, Policy: map[string]modes{},
	}
}

// SPDX-License-Identifier: Apache-2.0

package released

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

var errNoName = errors.New("the store refuses an empty name")

// Store is a backend in memory. Its methods may be called concurrently.
type Store struct {
	user, password string

	mu      sync.Mutex
	buckets map[string]bool
	// accounts are the IDs of the keys of each account.
	accounts map[string][]string
}

// NewStore returns an empty store that accepts one administrator's credential.
func NewStore(accessKeyID, secretAccessKey string) *Store {
	return &Store{user: accessKeyID, password: secretAccessKey, buckets: map[string]bool{}, accounts: map[string][]string{}}
}

// Buckets returns the names of the buckets, sorted.
func (s *Store) Buckets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.buckets))
}

// Keys returns the IDs of all keys of accounts, sorted.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(s.accounts))...)))
}

func (s *Store) login(user, password string) error {
	if user != s.user || password != s.password {
		return errors.New("the store refuses the credential")
	}
	return nil
}

func (s *Store) createBucket(name string) error {
	if name == "" {
		return errNoName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets[name] = true
	return nil
}

func (s *Store) deleteBucket(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.buckets, name)
}

func (s *Store) createKey(account string) (id, secret string, err error) {
	if account == "" {
		return "", "", errNoName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id = fmt.Sprintf("%s/%d", account, len(s.accounts[account]))
	s.accounts[account] = append(s.accounts[account], id)
	return id, rand.Text(), nil
}

func (s *Store) deleteAccount(name string) error {
	if name == "" {
		return errNoName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.accounts, name)
	return nil
}

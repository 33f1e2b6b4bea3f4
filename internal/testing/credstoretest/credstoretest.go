// SPDX-License-Identifier: Apache-2.0

// Package credstoretest is the conformance test of credential stores.
package credstoretest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Target is one kind of store.
type Target struct {
	// New creates an empty store.
	New func(t *testing.T) credstore.Store
	// Reopen opens the data of store as the next process would. It is nil for a store that does not outlive its
	// process.
	Reopen func(t *testing.T, store credstore.Store) credstore.Store
}

// Run checks that the store implements the contract of credstore.Store.
func Run(t *testing.T, target Target) {
	t.Helper()
	tests := map[string]func(*testing.T, credstore.Store){
		"an account without an entry is not found":                 missingEntry,
		"an entry is read as it was put":                           roundTrip,
		"an entry is made only once":                               putIfAbsent,
		"a write on an old version is a conflict":                  staleVersion,
		"a deleted entry is not found and can be made again":       deleteThenPut,
		"deleting what is not there is no error":                   deleteMissing,
		"account IDs that look alike have entries of their own":    similarAccounts,
		"of many writers of one new entry exactly one succeeds":    concurrentCreate,
		"what a caller does to an entry does not change the store": aliasing,
		"entries without an ID or a secret are refused":            incompleteEntry,
		"notes need no credential":                                 notesOnly,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, target.New(t))
		})
	}
	t.Run("every new store has an ID of its own", func(t *testing.T) {
		t.Parallel()
		if first, second := mustID(t, target.New(t)), mustID(t, target.New(t)); first == second || len(first) != 32 {
			t.Errorf("IDs %q and %q: want two different ones of 32 digits", first, second)
		}
	})
	if target.Reopen != nil {
		t.Run("ID and entries outlive the process", func(t *testing.T) {
			t.Parallel()
			outlivesProcess(t, target)
		})
	}
}

func sample(account string) credstore.Entry {
	return credstore.Entry{
		Account:  account,
		Rotation: "2026-01-02T03:04:05Z \"quoted\" ü",
		Current:  credstore.Credential{ID: "AKIACURRENT", Secret: cosi.NewSecret("current/secret+=")},
		Notes:    map[string]string{"params": "1", "state": "ü"},
		Previous: &credstore.Credential{ID: "AKIAPREVIOUS", Secret: cosi.NewSecret("previous\nsecret")},
	}
}

func missingEntry(t *testing.T, store credstore.Store) {
	if _, err := store.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
}

func roundTrip(t *testing.T, store credstore.Store) {
	put := mustPut(t, store, sample("ba-1"))
	if put.Version == "" {
		t.Error("Put returned no version")
	}
	if diff := diffEntries(mustGet(t, store, "ba-1"), put); diff != "" {
		t.Errorf("Get differs from what was put:\n%s", diff)
	}
}

func putIfAbsent(t *testing.T, store credstore.Store) {
	first := mustPut(t, store, sample("ba-1"))
	second := sample("ba-1")
	second.Current.ID = "AKIASECOND"
	if _, err := store.Put(t.Context(), second); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("second Put = %v, want ErrConflict", err)
	}
	if diff := diffEntries(mustGet(t, store, "ba-1"), first); diff != "" {
		t.Errorf("the refused write changed the entry:\n%s", diff)
	}
}

func staleVersion(t *testing.T, store credstore.Store) {
	first := mustPut(t, store, sample("ba-1"))
	update := first
	update.Current = credstore.Credential{ID: "AKIANEW", Secret: cosi.NewSecret("new")}
	second := mustPut(t, store, update)
	if second.Version == first.Version {
		t.Error("the version did not change with the content")
	}
	if _, err := store.Put(t.Context(), first); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("Put on the old version = %v, want ErrConflict", err)
	}
	if diff := diffEntries(mustGet(t, store, "ba-1"), second); diff != "" {
		t.Errorf("the refused write changed the entry:\n%s", diff)
	}
}

func deleteThenPut(t *testing.T, store credstore.Store) {
	old := mustPut(t, store, sample("ba-1"))
	if err := store.Delete(t.Context(), "ba-1"); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	missingEntry(t, store)
	if _, err := store.Put(t.Context(), old); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("Put on the version of a deleted entry = %v, want ErrConflict", err)
	}
	mustPut(t, store, sample("ba-1"))
}

func deleteMissing(t *testing.T, store credstore.Store) {
	if err := store.Delete(t.Context(), "ba-1"); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func similarAccounts(t *testing.T, store credstore.Store) {
	accounts := []string{
		"ba-1", "BA-1", "ba-1.", "ba.1", "ba/1", "ba_1", "./ba-1", "../ba-1", "..", ".", "a", "a/", "store", "lock",
		strings.Repeat("a", 2047) + "1", strings.Repeat("a", 2047) + "2",
	}
	want := map[string]credstore.Entry{}
	for _, account := range accounts {
		entry := sample(account)
		entry.Current.ID = "AKIA-" + account
		want[account] = mustPut(t, store, entry)
	}
	for _, account := range accounts {
		if diff := diffEntries(mustGet(t, store, account), want[account]); diff != "" {
			t.Errorf("entry of %.40q:\n%s", account, diff)
		}
	}
}

func concurrentCreate(t *testing.T, store credstore.Store) {
	const writers = 16
	outcomes := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			entry := sample("ba-1")
			entry.Current.ID = fmt.Sprintf("AKIA%02d", i)
			_, outcomes[i] = store.Put(t.Context(), entry)
		})
	}
	group.Wait()
	var made []string
	for i, err := range outcomes {
		switch {
		case err == nil:
			made = append(made, fmt.Sprintf("AKIA%02d", i))
		case !errors.Is(err, credstore.ErrConflict):
			t.Errorf("writer %d: %v, want ErrConflict", i, err)
		}
	}
	if stored := mustGet(t, store, "ba-1").Current.ID; len(made) != 1 || made[0] != stored {
		t.Errorf("writers %v were told that they made the entry, stored is %s", made, stored)
	}
}

func aliasing(t *testing.T, store credstore.Store) {
	entry := sample("ba-1")
	mustPut(t, store, entry)
	entry.Previous.ID = "changed"
	mustGet(t, store, "ba-1").Previous.ID = "changed"
	if got := mustGet(t, store, "ba-1").Previous.ID; got != "AKIAPREVIOUS" {
		t.Errorf("previous ID is %q", got)
	}
}

func incompleteEntry(t *testing.T, store credstore.Store) {
	for name, entry := range map[string]credstore.Entry{
		"no account": {Current: credstore.Credential{ID: "a", Secret: cosi.NewSecret("b")}},
		"no ID":      {Account: "ba-1", Current: credstore.Credential{Secret: cosi.NewSecret("b")}},
		"no secret":  {Account: "ba-1", Current: credstore.Credential{ID: "a"}},
	} {
		if _, err := store.Put(t.Context(), entry); err == nil {
			t.Errorf("%s: Put succeeded", name)
		}
	}
}

func notesOnly(t *testing.T, store credstore.Store) {
	want := mustPut(t, store, credstore.Entry{Account: "bucket/b", Notes: map[string]string{"state": "creating"}})
	if diff := diffEntries(mustGet(t, store, "bucket/b"), want); diff != "" {
		t.Errorf("Get differs from what was put:\n%s", diff)
	}
}

func outlivesProcess(t *testing.T, target Target) {
	store := target.New(t)
	id, want := mustID(t, store), mustPut(t, store, sample("ba-1"))
	next := target.Reopen(t, store)
	if got := mustID(t, next); got != id {
		t.Errorf("ID is %q after reopening, was %q", got, id)
	}
	got := mustGet(t, next, "ba-1")
	if diff := diffEntries(got, want); diff != "" {
		t.Errorf("entry after reopening:\n%s", diff)
	}
	if _, err := next.Put(t.Context(), got); err != nil {
		t.Errorf("Put on a version of the earlier process: %v", err)
	}
}

func mustID(t *testing.T, store credstore.Store) string {
	t.Helper()
	id, err := store.ID(t.Context())
	if err != nil {
		t.Fatalf("ID: %v", err)
	}
	return id
}

func mustPut(t *testing.T, store credstore.Store, entry credstore.Entry) credstore.Entry {
	t.Helper()
	stored, err := store.Put(t.Context(), entry)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return stored
}

func mustGet(t *testing.T, store credstore.Store, account string) credstore.Entry {
	t.Helper()
	entry, err := store.Get(t.Context(), account)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return entry
}

// diffEntries shows secrets, which are test data of this package.
func diffEntries(got, want credstore.Entry) string { return cmp.Diff(want, got) }

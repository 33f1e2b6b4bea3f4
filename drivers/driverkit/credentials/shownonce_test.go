// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// shop is a backend that shows a secret once and allows two keys.
type shop struct {
	keys    []credentials.ShownOnceKey
	made    int
	failure error
	deleted []string
}

func (s *shop) List(context.Context) ([]credentials.ShownOnceKey, error) {
	return slices.Clone(s.keys), s.failure
}

func (s *shop) Create(context.Context) (credentials.Credential, error) {
	if len(s.keys) >= 2 {
		return credentials.Credential{}, errors.New("two keys exist")
	}
	s.made++
	id := fmt.Sprintf("key%d", s.made)
	s.keys = append(s.keys, credentials.ShownOnceKey{ID: id, Active: true})
	return credentials.Credential{ID: id, Secret: cosi.NewSecret("secret of " + id)}, nil
}

func (s *shop) Delete(_ context.Context, id string) error {
	s.deleted = append(s.deleted, id)
	s.keys = slices.DeleteFunc(s.keys, func(k credentials.ShownOnceKey) bool { return k.ID == id })
	return nil
}

func (s *shop) ids() []string {
	var ids []string
	for _, key := range s.keys {
		ids = append(ids, key.ID)
	}
	return ids
}

// failingStore fails the next writes.
type failingStore struct {
	credentials.Store

	failures int
	failure  error
}

func (f *failingStore) Put(ctx context.Context, entry credentials.Entry) (credentials.Entry, error) {
	if f.failures > 0 {
		f.failures--
		return credentials.Entry{}, f.failure
	}
	return f.Store.Put(ctx, entry)
}

func grant(t *testing.T, store credentials.Store, keys *shop, rotation string) string {
	t.Helper()
	credential, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account, Rotation: rotation}, keys)
	if err != nil {
		t.Fatal(err)
	}
	if credential.Secret.Reveal() != "secret of "+credential.ID {
		t.Errorf("key %s came with the secret %q", credential.ID, credential.Secret.Reveal())
	}
	return credential.ID
}

func TestKeysThatWereNeverDeliveredAreReplaced(t *testing.T) {
	t.Parallel()
	store := &failingStore{Store: credentials.NewMemory(), failures: 3, failure: errors.New("disk full")}
	keys := &shop{}
	for range 3 {
		_, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account}, keys)
		if status.Code(err) != codes.Unavailable {
			t.Fatalf("error is %v, want Unavailable", err)
		}
	}
	id := grant(t, store, keys, "")
	if diff := cmp.Diff([]string{id}, keys.ids()); diff != "" {
		t.Errorf("live keys (-delivered +live):\n%s", diff)
	}
}

func TestRotationInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	store := &failingStore{Store: credentials.NewMemory(), failure: errors.New("disk full")}
	keys := &shop{}
	grant(t, store, keys, "")
	previous := grant(t, store, keys, "r1")
	store.failures = 2
	for range 2 {
		if _, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account, Rotation: "r2"}, keys); err == nil {
			t.Fatal("granted without storing")
		}
		if !slices.Contains(keys.ids(), previous) {
			t.Fatal("the delivered key was deleted before the next one was stored")
		}
	}
	current := grant(t, store, keys, "r2")
	if diff := cmp.Diff([]string{previous, current}, keys.ids()); diff != "" {
		t.Errorf("live keys (-want +got):\n%s", diff)
	}
}

func TestKeyRemovedByHandIsReplaced(t *testing.T) {
	t.Parallel()
	store, keys := credentials.NewMemory(), &shop{}
	first := grant(t, store, keys, "")
	second := grant(t, store, keys, "r1")
	drivertest.Age(t, store, account)
	keys.keys = slices.DeleteFunc(keys.keys, func(k credentials.ShownOnceKey) bool { return k.ID == second })
	third := grant(t, store, keys, "r1")
	if diff := cmp.Diff([]string{first, third}, keys.ids()); diff != "" {
		t.Errorf("live keys (-want +got):\n%s", diff)
	}
	if again := grant(t, store, keys, "r1"); again != third {
		t.Errorf("repeated grant returns %s, want %s", again, third)
	}
}

// TestKeysAndAListThatLags has a list without the key that was made last.
func TestKeysAndAListThatLags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, store credentials.Store, keys *shop, delivered string){
		"a grant returns the delivered key": func(t *testing.T, store credentials.Store, keys *shop, delivered string) {
			t.Helper()
			if again := grant(t, store, keys, ""); again != delivered {
				t.Errorf("another key %s than the delivered %s", again, delivered)
			}
		},
		"a rotation keeps the delivered key": func(t *testing.T, store credentials.Store, keys *shop, delivered string) {
			t.Helper()
			grant(t, store, keys, "r1")
			if entry, err := store.Get(t.Context(), account); err != nil || entry.Previous == nil || entry.Previous.ID != delivered {
				t.Errorf("stored %v, %v, want the delivered key as the previous one", entry, err)
			}
		},
		"an account that was made again has a new key": func(t *testing.T, store credentials.Store, keys *shop, delivered string) {
			t.Helper()
			made, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account, New: true}, keys)
			if err != nil || made.ID == delivered {
				t.Errorf("key %s, %v", made.ID, err)
			}
		},
		"a revoke removes the delivered key": func(t *testing.T, store credentials.Store, keys *shop, delivered string) {
			t.Helper()
			if err := credentials.RevokeShownOnce(t.Context(), store, account, keys, nil); err != nil || !slices.Contains(keys.deleted, delivered) {
				t.Errorf("deleted are %v, %v", keys.deleted, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, keys := credentials.NewMemory(), &shop{}
			delivered := grant(t, store, keys, "")
			keys.keys = nil
			test(t, store, keys, delivered)
		})
	}
}

func TestInactiveKeyIsTheAdministrators(t *testing.T) {
	t.Parallel()
	for _, rotation := range []string{"", "r1"} {
		store, keys := credentials.NewMemory(), &shop{}
		grant(t, store, keys, "")
		keys.keys[0].Active = false
		if _, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account, Rotation: rotation}, keys); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("rotation %q: error is %v, want FailedPrecondition", rotation, err)
		}
		if keys.made != 1 {
			t.Errorf("rotation %q: %d keys were made", rotation, keys.made)
		}
	}
}

func TestFailuresOfTheStore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		failure error
		want    codes.Code
	}{
		"somebody else granted at the same time": {credentials.ErrConflict, codes.Aborted},
		"the entry is damaged":                   {credentials.ErrCorrupt, codes.FailedPrecondition},
		"the store was exchanged":                {credentials.ErrStoreID, codes.FailedPrecondition},
		"the store cannot be written":            {errors.New("read-only"), codes.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &failingStore{Store: credentials.NewMemory(), failures: 1, failure: test.failure}
			if _, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account}, &shop{}); status.Code(err) != test.want {
				t.Errorf("error is %v, want %v", err, test.want)
			}
		})
	}
}

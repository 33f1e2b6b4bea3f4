// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestSuppliedAccountOfAnotherAccess(t *testing.T) {
	t.Parallel()
	b := newBackend()
	request := credentials.SuppliedRequest{Request: credentials.Request{Account: account}, Hash: "h1", Notes: map[string]string{"buckets": "a b"}}
	if _, err := credentials.GrantSupplied(t.Context(), b.store, request, supplied{process{backend: b}}); err != nil {
		t.Fatal(err)
	}
	if note, err := credentials.StoredNote(t.Context(), b.store, account, "buckets"); err != nil || note != "a b" {
		t.Errorf("the note is %q, %v", note, err)
	}
	request.Hash = "h2"
	if _, err := credentials.GrantSupplied(t.Context(), b.store, request, supplied{process{backend: b}}); status.Code(err) != codes.AlreadyExists {
		t.Errorf("another access: %v, want AlreadyExists", err)
	}
	if note, err := credentials.StoredNote(t.Context(), b.store, "ba-2", "buckets"); err != nil || note != "" {
		t.Errorf("the note of an account that is not there is %q, %v", note, err)
	}
}

// TestMarkedAccountOfSomebodyElse has an account that another cluster granted, that is for other buckets, or that was
// created manually. Its keys must not be returned or removed, and no key may be added to it.
func TestMarkedAccountOfSomebodyElse(t *testing.T) {
	t.Parallel()
	deriver, err := credentials.NewDeriver(credentials.NewSecret(), "test.example.com")
	if err != nil {
		t.Fatal(err)
	}
	mine := credentials.MarkedRequest{Request: credentials.Request{Account: account}, Owner: "test.example.com blue", Hash: "h1"}
	otherCluster, otherBuckets := mine, mine
	otherCluster.Owner, otherBuckets.Hash = "test.example.com green", "h2"
	type way struct {
		grant  func(b *backend, r credentials.MarkedRequest) error
		revoke func(b *backend, r credentials.MarkedRequest) error
	}
	for kind, way := range map[string]way{
		"readable": {
			func(b *backend, r credentials.MarkedRequest) error {
				_, err := credentials.GrantReadable(t.Context(), r, readable{process{backend: b}})
				return err
			},
			func(b *backend, r credentials.MarkedRequest) error {
				return credentials.RevokeReadable(t.Context(), r, readable{process{backend: b}}, nil)
			},
		},
		"derived": {
			func(b *backend, r credentials.MarkedRequest) error {
				_, err := credentials.GrantDerived(t.Context(), r, derived{process{backend: b}, deriver})
				return err
			},
			func(b *backend, r credentials.MarkedRequest) error {
				return credentials.RevokeDerived(t.Context(), r, derived{process{backend: b}, deriver}, nil)
			},
		},
	} {
		for name, prepare := range map[string]func(*backend) error{
			"of another cluster": func(b *backend) error { return way.grant(b, otherCluster) },
			"for other buckets":  func(b *backend) error { return way.grant(b, otherBuckets) },
			"made by hand":       func(b *backend) error { b.create(); return nil },
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				b := newBackend()
				if err := prepare(b); err != nil {
					t.Fatal(err)
				}
				before := b.ids()
				if err := way.grant(b, mine); status.Code(err) != codes.AlreadyExists {
					t.Errorf("grant: %v, want AlreadyExists", err)
				}
				if diff := cmp.Diff(before, b.ids()); diff != "" {
					t.Errorf("keys (-before +after):\n%s", diff)
				}
				if name == "for other buckets" {
					return // it is this driver's, and may be revoked
				}
				if err := way.revoke(b, mine); status.Code(err) != codes.FailedPrecondition {
					t.Errorf("revoke: %v, want FailedPrecondition", err)
				}
				if diff := cmp.Diff(before, b.ids()); diff != "" {
					t.Errorf("keys (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestWhatElseBelongsToAnAccount checks that everything else is removed before the stored entry, so that the call can
// be repeated after a failure.
func TestWhatElseBelongsToAnAccount(t *testing.T) {
	t.Parallel()
	b := newBackend()
	p := process{backend: b}
	if _, err := credentials.GrantShownOnce(t.Context(), b.store, credentials.Request{Account: account}, shownOnce{p}); err != nil {
		t.Fatal(err)
	}
	busy := errors.New("the policy is in use")
	if err := credentials.RevokeShownOnce(t.Context(), b.store, account, shownOnce{p}, func(context.Context) error { return busy }); !errors.Is(err, busy) {
		t.Errorf("error is %v, want %v", err, busy)
	}
	if _, err := b.store.Get(t.Context(), account); err != nil || len(b.keys) != 0 {
		t.Errorf("after a failed revoke: keys %v, stored: %v", b.ids(), err)
	}
}

func TestDeriver(t *testing.T) {
	t.Parallel()
	if _, err := credentials.NewDeriver(cosi.NewSecret("short"), "a.example.com"); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("a short master key: %v, want an error without it", err)
	}
	master := credentials.NewSecret()
	seen := map[string]string{}
	for _, driver := range []string{"a.example.com", "b.example.com"} {
		deriver, err := credentials.NewDeriver(master, driver)
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"ba-1", "ba-1.0"} {
			for _, mark := range []credentials.Mark{"0.aaaaaaaa.bbbbbbbbbb", "1.aaaaaaaa.bbbbbbbbbb"} {
				secret, err := deriver.Secret(owner, mark)
				if err != nil {
					t.Fatal(err)
				}
				if again, err := deriver.Secret(owner, mark); err != nil || !again.Equal(secret) {
					t.Errorf("%s %s: another secret the second time (%v)", owner, mark, err)
				}
				if length := len(secret.Reveal()); length != 40 {
					t.Errorf("a secret of %d characters, want 40", length)
				}
				name := driver + " " + owner + " " + string(mark)
				if other, taken := seen[secret.Reveal()]; taken {
					t.Errorf("%s has the secret of %s", name, other)
				}
				seen[secret.Reveal()] = name
			}
		}
	}
}

func TestPlanMarks(t *testing.T) {
	t.Parallel()
	first := credentials.PlanMarks(nil, "").Current
	second := credentials.PlanMarks([]credentials.Mark{first}, "r1").Current
	third := credentials.PlanMarks([]credentials.Mark{first, second}, "r2").Current
	tests := map[string]struct {
		found    []credentials.Mark
		rotation string
		want     credentials.Plan
	}{
		"one of the present rotation":            {[]credentials.Mark{first}, "", credentials.Plan{Current: first}},
		"two, in any order":                      {[]credentials.Mark{second, first}, "r1", credentials.Plan{Current: second, Previous: first}},
		"what a killed process did not remove":   {[]credentials.Mark{third, first, second}, "r2", credentials.Plan{Current: third, Previous: second, Stale: []credentials.Mark{first}}},
		"another rotation":                       {[]credentials.Mark{first, second}, "r2", credentials.Plan{New: true, Previous: second, Stale: []credentials.Mark{first}}},
		"the rotation before the last once more": {[]credentials.Mark{first, second}, "", credentials.Plan{New: true, Previous: second, Stale: []credentials.Mark{first}}},
		"none":                                   {nil, "r1", credentials.Plan{New: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := credentials.PlanMarks(test.found, test.rotation)
			if parsed, ok := credentials.ParseMark(string(got.Current)); !ok || parsed != got.Current {
				t.Errorf("%q is no mark", got.Current)
			}
			if got.New {
				got.Current = ""
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextsThatAreNoMarks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "key1", "0.aaaaaaaa", "-1.aaaaaaaa.bbbbbbbbbb", "00.aaaaaaaa.bbbbbbbbbb", "0.aaaa.bbbbbbbbbb", "0.aaaaaaaa.bbbb", "0.aaaaaaaa.bbbbbbbbbb.c"} {
		if _, ok := credentials.ParseMark(text); ok {
			t.Errorf("%q is taken for a mark", text)
		}
	}
}

// TestStoreOfFiles opens a store that belongs to another driver.
func TestStoreOfFiles(t *testing.T) {
	t.Parallel()
	directory := t.TempDir() + "/keys"
	var ids []string
	b := newBackend()
	for range 2 {
		store, err := credentials.OpenDirectory(directory)
		if err != nil {
			t.Fatal(err)
		}
		granted, err := credentials.GrantShownOnce(t.Context(), store, credentials.Request{Account: account}, shownOnce{process{backend: b}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, granted.ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("a store that is opened again returns another key: %v", ids)
	}
}

// An empty name, for example from a lost environment variable, must not turn encryption off.
func TestEncryptedNeedsAKeyFile(t *testing.T) {
	t.Parallel()
	if _, err := credentials.Encrypted(credentials.NewMemory(), ""); err == nil {
		t.Error("a store without a key file was accepted")
	}
}

// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const account = "ba-1"

// backend is the state outside of the process: the accepted secrets by key ID. Each way of granting accesses it
// through its own interface.
type backend struct {
	keys  map[string]string
	marks map[string]credentials.Mark
	made  int
	store credentials.Store
}

func newBackend() *backend {
	return &backend{keys: map[string]string{}, marks: map[string]credentials.Mark{}, store: credentials.NewMemory()}
}

// ids are those of the live keys, sorted.
func (b *backend) ids() []string {
	ids := []string{}
	for id := range b.keys {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (b *backend) accepts(key credentials.Credential) bool {
	return !key.Secret.IsZero() && b.keys[key.ID] == key.Secret.Reveal()
}

func (b *backend) create() credentials.Credential {
	b.made++
	id := fmt.Sprintf("key%d", b.made)
	b.keys[id] = "secret of " + id
	return credentials.Credential{ID: id, Secret: cosi.NewSecret(b.keys[id])}
}

func (b *backend) remove(id string) error {
	delete(b.keys, id)
	delete(b.marks, id)
	return nil
}

// process is a driver, which may be killed. Nil has none of it.
type process struct {
	*backend

	crash *drivertest.Crash
}

func (p process) call(name string, effect func() error) error {
	if p.crash == nil {
		return effect()
	}
	return p.crash.Call(name, effect)
}

func (p process) keptIn() credentials.Store {
	if p.crash == nil {
		return p.store
	}
	return p.crash.Store(p.store)
}

func (p process) delete(id string) error {
	return p.call("delete "+id, func() error { return p.remove(id) })
}

// capability is one of the ways to grant.
type capability struct {
	grant  func(ctx context.Context, p process, rotation string) (credentials.Credential, error)
	revoke func(ctx context.Context, p process) error
}

func capabilities(t *testing.T) map[string]capability {
	t.Helper()
	deriver, err := credentials.NewDeriver(credentials.NewSecret(), "test.example.com")
	if err != nil {
		t.Fatal(err)
	}
	request := func(rotation string) credentials.Request {
		return credentials.Request{Account: account, Rotation: rotation}
	}
	marked := func(rotation string) credentials.MarkedRequest {
		return credentials.MarkedRequest{Request: request(rotation), Owner: "test.example.com blue", Hash: "h"}
	}
	return map[string]capability{
		"shown once": {
			func(ctx context.Context, p process, rotation string) (credentials.Credential, error) {
				return credentials.GrantShownOnce(ctx, p.keptIn(), request(rotation), shownOnce{p})
			},
			func(ctx context.Context, p process) error {
				return credentials.RevokeShownOnce(ctx, p.keptIn(), account, shownOnce{p}, nil)
			},
		},
		"supplied": {
			func(ctx context.Context, p process, rotation string) (credentials.Credential, error) {
				return credentials.GrantSupplied(ctx, p.keptIn(), credentials.SuppliedRequest{Request: request(rotation), Hash: "h"}, supplied{p})
			},
			func(ctx context.Context, p process) error {
				return credentials.RevokeSupplied(ctx, p.keptIn(), account, supplied{p}, nil)
			},
		},
		"readable": {
			func(ctx context.Context, p process, rotation string) (credentials.Credential, error) {
				return credentials.GrantReadable(ctx, marked(rotation), readable{p})
			},
			func(ctx context.Context, p process) error {
				return credentials.RevokeReadable(ctx, marked(""), readable{p}, nil)
			},
		},
		"derived": {
			func(ctx context.Context, p process, rotation string) (credentials.Credential, error) {
				return credentials.GrantDerived(ctx, marked(rotation), derived{p, deriver})
			},
			func(ctx context.Context, p process) error {
				return credentials.RevokeDerived(ctx, marked(""), derived{p, deriver}, nil)
			},
		},
	}
}

type shownOnce struct{ process }

func (s shownOnce) List(context.Context) (keys []credentials.ShownOnceKey, err error) {
	return keys, s.call("list", func() error {
		for _, id := range s.ids() {
			keys = append(keys, credentials.ShownOnceKey{ID: id, Active: true})
		}
		return nil
	})
}

func (s shownOnce) Create(context.Context) (made credentials.Credential, err error) {
	return made, s.call("create", func() error {
		if len(s.keys) >= 2 {
			return fmt.Errorf("there are two keys")
		}
		made = s.create()
		return nil
	})
}

func (s shownOnce) Delete(_ context.Context, id string) error { return s.delete(id) }

type supplied struct{ process }

func (s supplied) Make() credentials.Credential {
	s.made++
	return credentials.Credential{ID: fmt.Sprintf("key%d", s.made), Secret: credentials.NewSecret()}
}

func (s supplied) Ensure(_ context.Context, key credentials.Credential) error {
	return s.call("ensure "+key.ID, func() error {
		s.keys[key.ID] = key.Secret.Reveal()
		return nil
	})
}

func (s supplied) Remove(_ context.Context, id string) error { return s.delete(id) }

type readable struct{ process }

func (r readable) List(context.Context) (keys []credentials.ReadableKey, err error) {
	return keys, r.call("list", func() error {
		for _, id := range r.ids() {
			key := credentials.Credential{ID: id, Secret: cosi.NewSecret(r.keys[id])}
			keys = append(keys, credentials.ReadableKey{Credential: key, Mark: r.marks[id]})
		}
		return nil
	})
}

func (r readable) Create(_ context.Context, mark credentials.Mark) (made credentials.Credential, err error) {
	return made, r.call("create", func() error {
		made = r.create()
		r.marks[made.ID] = mark
		return nil
	})
}

func (r readable) Remove(_ context.Context, id string) error { return r.delete(id) }

// derived has a backend that takes two calls to make a key: first it is there, then it is accepted.
type derived struct {
	process

	deriver credentials.Deriver
}

func (d derived) List(context.Context) (marks []credentials.Mark, err error) {
	return marks, d.call("list", func() error {
		for _, id := range d.ids() {
			marks = append(marks, d.marks[id])
		}
		return nil
	})
}

func (d derived) Derive(_ context.Context, mark credentials.Mark) (credentials.Credential, error) {
	secret, err := d.deriver.Secret(account, mark)
	return credentials.Credential{ID: account + "." + string(mark), Secret: secret}, err
}

func (d derived) Ensure(ctx context.Context, mark credentials.Mark) error {
	key, err := d.Derive(ctx, mark)
	if err != nil {
		return err
	}
	err = d.call("make "+key.ID, func() error {
		d.marks[key.ID] = mark
		if d.keys[key.ID] == "" {
			d.keys[key.ID] = "not accepted yet"
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.call("accept "+key.ID, func() error {
		d.keys[key.ID] = key.Secret.Reveal()
		return nil
	})
}

func (d derived) Remove(_ context.Context, mark credentials.Mark) error {
	return d.delete(account + "." + string(mark))
}

// TestCrashMatrix kills the process at every call of a grant, a first and a second rotation, and a
// revoke, in each of the ways, and lets the next process go on.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	for name, way := range capabilities(t) {
		for scenario, before := range map[string][]string{"grant": nil, "rotate": {""}, "rotate again": {"", "r1"}} {
			rotation := []string{"", "r1", "r2"}[len(before)]
			t.Run(name+", "+scenario, func(t *testing.T) {
				t.Parallel()
				drivertest.CrashMatrix{Cell: func(t *testing.T, crash *drivertest.Crash) {
					t.Helper()
					grantCell(t, way, crash, before, rotation)
				}}.Run(t)
			})
			t.Run(name+", revoke after "+scenario, func(t *testing.T) {
				t.Parallel()
				drivertest.CrashMatrix{Cell: func(t *testing.T, crash *drivertest.Crash) {
					t.Helper()
					revokeCell(t, way, crash, append(slices.Clone(before), rotation))
				}}.Run(t)
			})
		}
	}
}

func mustGrant(t *testing.T, way capability, b *backend, rotation string) credentials.Credential {
	t.Helper()
	granted, err := way.grant(t.Context(), process{backend: b}, rotation)
	if err != nil {
		t.Fatal(err)
	}
	return granted
}

func grantCell(t *testing.T, way capability, crash *drivertest.Crash, before []string, rotation string) {
	t.Helper()
	b := newBackend()
	var live []credentials.Credential
	for _, earlier := range before {
		live = append(live, mustGrant(t, way, b, earlier))
	}
	if _, err := way.grant(crash.Context(t), process{b, crash}, rotation); err == nil && crash.Dead() {
		t.Error("the killed process returned")
	}
	if len(live) > 0 && !b.accepts(live[len(live)-1]) {
		t.Error("the credential that is in use does not work while the next one is made")
	}
	live = append(live, mustGrant(t, way, b, rotation))
	if diff := cmp.Diff(live[len(live)-1], mustGrant(t, way, b, rotation)); diff != "" {
		t.Errorf("a repeated grant returns something else:\n%s", diff)
	}
	live = live[max(0, len(live)-2):]
	want := []string{}
	for _, key := range live {
		want = append(want, key.ID)
		if !b.accepts(key) {
			t.Errorf("credential %s does not work", key.ID)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, b.ids()); diff != "" {
		t.Errorf("live keys (-current and previous +live):\n%s", diff)
	}
}

func revokeCell(t *testing.T, way capability, crash *drivertest.Crash, before []string) {
	t.Helper()
	b := newBackend()
	var last credentials.Credential
	for _, earlier := range before {
		last = mustGrant(t, way, b, earlier)
	}
	if err := way.revoke(crash.Context(t), process{b, crash}); err == nil && crash.Dead() {
		t.Error("the killed process returned")
	}
	for range 2 {
		if err := way.revoke(t.Context(), process{backend: b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.store.Get(t.Context(), account); err == nil || len(b.keys) > 0 {
		t.Errorf("left are keys %v, and what is stored (%v)", b.ids(), err)
	}
	if again := mustGrant(t, way, b, ""); again.Secret.Equal(last.Secret) || again.ID == last.ID {
		t.Error("an account that is granted again has its former credential")
	}
}

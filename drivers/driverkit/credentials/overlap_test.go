// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

// likeSecrets is a store that, as Kubernetes does, gives an entry no new version when nothing in it changes.
type likeSecrets struct{ credentials.Store }

func (l likeSecrets) Put(ctx context.Context, entry credentials.Entry) (credentials.Entry, error) {
	old, err := l.Get(ctx, entry.Account)
	if err == nil && old.Version == entry.Version && old.Current.Secret.Equal(entry.Current.Secret) && old.Rotation == entry.Rotation && maps.Equal(old.Notes, entry.Notes) {
		return old, nil
	}
	return l.Store.Put(ctx, entry)
}

// paused are the keys as a process sees them that is paused once, while another one works.
type paused struct {
	credentials.ShownOnceKeys

	beforeList, afterCreate func()
}

func (p paused) List(ctx context.Context) ([]credentials.ShownOnceKey, error) {
	if p.beforeList != nil {
		p.beforeList()
	}
	return p.ShownOnceKeys.List(ctx)
}

func (p paused) Create(ctx context.Context) (credentials.Credential, error) {
	made, err := p.ShownOnceKeys.Create(ctx)
	if p.afterCreate != nil {
		p.afterCreate()
	}
	return made, err
}

// full is a backend that creates no more keys.
type full struct{ credentials.ShownOnceKeys }

func (full) Create(context.Context) (credentials.Credential, error) {
	return credentials.Credential{}, errors.New("the account has all the keys that it may have")
}

// TestTwoProcessesGrantOneAccount has a former leader that is paused in a grant while its successor works on the same
// account. The key that the successor delivered works, and the former leader delivers none.
func TestTwoProcessesGrantOneAccount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause func(keys credentials.ShownOnceKeys, successor func()) credentials.ShownOnceKeys
		// fails means that the backend rejects the successor's key after the successor removed that of the former leader.
		fails bool
	}{
		"before it lists the keys": {
			pause: func(keys credentials.ShownOnceKeys, successor func()) credentials.ShownOnceKeys {
				return paused{ShownOnceKeys: keys, beforeList: successor}
			},
		},
		"before it stores its key": {
			pause: func(keys credentials.ShownOnceKeys, successor func()) credentials.ShownOnceKeys {
				return paused{ShownOnceKeys: keys, afterCreate: successor}
			},
		},
		"before it stores its key, which the successor removes and cannot replace": {
			pause: func(keys credentials.ShownOnceKeys, successor func()) credentials.ShownOnceKeys {
				return paused{ShownOnceKeys: keys, afterCreate: successor}
			},
			fails: true,
		},
	} {
		for kind, rotation := range map[string]string{"a new account": "", "a rotation": "r1"} {
			t.Run(kind+", paused "+name, func(t *testing.T) {
				t.Parallel()
				store, keys := likeSecrets{credentials.NewMemory()}, &shop{}
				if rotation != "" {
					grant(t, store, keys, "")
				}
				request := credentials.Request{Account: account, Rotation: rotation}
				delivered := ""
				former := test.pause(keys, func() {
					if !test.fails {
						delivered = grant(t, store, keys, rotation)
					} else if _, err := credentials.GrantShownOnce(t.Context(), store, request, full{keys}); err == nil {
						t.Error("the successor has a key")
					}
				})
				if _, err := credentials.GrantShownOnce(t.Context(), store, request, former); status.Code(err) != codes.Aborted {
					t.Errorf("the former leader: %v, want Aborted", err)
				}
				if delivered != "" && !slices.Contains(keys.ids(), delivered) {
					t.Errorf("the delivered key %s was deleted", delivered)
				}
				again := grant(t, store, keys, rotation)
				if delivered != "" && again != delivered || !slices.Contains(keys.ids(), again) {
					t.Errorf("the next grant returns %s, want the delivered key %q; the keys are %v", again, delivered, keys.ids())
				}
			})
		}
	}
}

// TestRevokedKeyStaysRevoked has a former leader that is paused in a grant while its successor revokes the account.
func TestRevokedKeyStaysRevoked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rotation string
		grant    func(ctx context.Context, b *backend, rotation string, revoke func()) error
		way      string
	}{
		"shown once, before the new key is stored": {"r1", func(ctx context.Context, b *backend, rotation string, revoke func()) error {
			keys := paused{ShownOnceKeys: shownOnce{process{backend: b}}, afterCreate: revoke}
			_, err := credentials.GrantShownOnce(ctx, b.store, credentials.Request{Account: account, Rotation: rotation}, keys)
			return err
		}, "shown once"},
		"supplied, before the backend has the same key again": {"", grantSuppliedPaused, "supplied"},
		"supplied, before the backend has a new key":          {"r1", grantSuppliedPaused, "supplied"},
		"supplied, before the backend has half of a key": {"", func(ctx context.Context, b *backend, rotation string, revoke func()) error {
			request := credentials.SuppliedRequest{Request: credentials.Request{Account: account, Rotation: rotation}, Hash: "h"}
			_, err := credentials.GrantSupplied(ctx, b.store, request, halfway{&pausedSupplied{supplied{process{backend: b}}, revoke}})
			return err
		}, "supplied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, way := newBackend(), capabilities(t)[test.way]
			mustGrant(t, way, b, "")
			revoke := func() {
				if err := way.revoke(t.Context(), process{backend: b}); err != nil {
					t.Error(err)
				}
			}
			if err := test.grant(t.Context(), b, test.rotation, revoke); status.Code(err) != codes.Aborted {
				t.Errorf("the former leader: %v, want Aborted", err)
			}
			if _, err := b.store.Get(t.Context(), account); !errors.Is(err, credentials.ErrNotFound) || len(b.keys) > 0 {
				t.Errorf("left are keys %v, and what is stored (%v)", b.ids(), err)
			}
		})
	}
}

// pausedSupplied are the keys as a process sees them that is paused before its first key is at the backend.
type pausedSupplied struct {
	supplied

	once func()
}

func (p *pausedSupplied) Ensure(ctx context.Context, key credentials.Credential) error {
	if p.once != nil {
		p.once()
		p.once = nil
	}
	return p.supplied.Ensure(ctx, key)
}

// halfway are keys that the backend has, and that it refuses rights.
type halfway struct{ *pausedSupplied }

func (h halfway) Ensure(ctx context.Context, key credentials.Credential) error {
	return errors.Join(h.pausedSupplied.Ensure(ctx, key), errors.New("the policy is missing"))
}

func grantSuppliedPaused(ctx context.Context, b *backend, rotation string, revoke func()) error {
	request := credentials.SuppliedRequest{Request: credentials.Request{Account: account, Rotation: rotation}, Hash: "h"}
	_, err := credentials.GrantSupplied(ctx, b.store, request, &pausedSupplied{supplied{process{backend: b}}, revoke})
	return err
}

// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// TestFormerLeaderGrants pauses a grant before each of its calls while another process grants the same access. The
// credential that the other process delivered works.
func TestFormerLeaderGrants(t *testing.T) {
	t.Parallel()
	for name, rotation := range map[string]string{"a new account": "", "a rotation": "r1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, ran := 1, true; ran && !t.Failed(); at++ {
				run := newRun(t)
				mustRun(t, run.driver, run.names, []step{callCreate})
				keys := 1
				if rotation != "" {
					mustRun(t, run.driver, run.names, []step{callGrant("")})
					keys = 2
				}
				ran = false
				var delivered driverkit.Access
				former := bare(t, run.google, run.store, drivertest.Paused(at, func() {
					ran = true
					var err error
					if delivered, err = run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation)); err != nil {
						t.Error(err)
					}
				}))
				granted, refused := former.GrantAccess(t.Context(), grantOf(run.names, rotation))
				again, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, rotation))
				mustSucceed(t, err)
				if diff := cmp.Diff(granted, again); refused == nil && diff != "" {
					t.Errorf("paused before call %d, it delivers another credential:\n%s", at, diff)
				}
				if diff := cmp.Diff(delivered, again); ran && diff != "" {
					t.Errorf("paused before call %d, the delivered credential was replaced:\n%s", at, diff)
				}
				verifyGranted(rotation, keys)(t, run)
			}
		})
	}
}

// TestFormerLeaderMeetsARevoke pauses a repeated grant before each of its calls while another process revokes the access.
// The credential that was delivered before does not work again, and once the service account was seen, it is not made
// again.
func TestFormerLeaderMeetsARevoke(t *testing.T) {
	t.Parallel()
	for at, ran := 1, true; ran && !t.Failed(); at++ {
		run := newRun(t)
		mustRun(t, run.driver, run.names, []step{callCreate})
		delivered, err := run.driver.GrantAccess(t.Context(), grantOf(run.names, ""))
		mustSucceed(t, err)
		ran = false
		pause := drivertest.Paused(at, func() {
			ran = true
			mustRun(t, run.driver, run.names, []step{callRevoke})
		})
		_, err = bare(t, run.google, run.store, pause).GrantAccess(t.Context(), grantOf(run.names, ""))
		left := run.google.Inventory().Accounts
		look := slices.IndexFunc(pause.Calls(), func(call string) bool { return strings.Contains(call, "/serviceAccounts/") })
		t.Logf("paused before call %d: %v; left are %+v", at, err, left)
		if ran && look >= 0 && at > look+1 && len(left)+len(run.store.Accounts()) > 0 {
			t.Errorf("paused before call %d: the account was made again: %+v", at, left)
		}
		client, failure := s3Of(run.host, delivered)
		if failure != nil {
			t.Fatal(failure)
		}
		if ran && s3Put(t, client, run.bucket, "key") == nil {
			t.Errorf("paused before call %d: an object is written with a revoked key", at)
		}
	}
}

// newRun is a run on a fake of its own.
func newRun(t *testing.T) *run {
	t.Helper()
	on, store := startGoogle(t, gcsfake.Options{}), credstore.NewMemory()
	names := names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount(), host: strings.TrimPrefix(on.URL(), "http://"), credentials: "hmac"}
	return &run{names: names, google: on, store: store, driver: process(t, on, store, nil)}
}

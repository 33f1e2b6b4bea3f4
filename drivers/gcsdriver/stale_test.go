// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// TestLaggingReads makes all reads stale until the lag ends, so they show none of the test's changes.
func TestLaggingReads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, on google, driver driverkit.Driver, names names){
		"a revoke that does not see the service account removes it": func(t *testing.T, on google, driver driverkit.Driver, names names) {
			t.Helper()
			mustRun(t, driver, names, []step{callGrant("")})
			lagging(t, on, "iam.projects.serviceAccounts.get")
			mustRun(t, driver, names, []step{callRevoke})
		},
		"a key that is not listed is kept": func(t *testing.T, on google, driver driverkit.Driver, names names) {
			t.Helper()
			mustRun(t, driver, names, []step{callGrant("")})
			delivered := on.Inventory().Accounts[0].HMAC
			lagging(t, on, "storage.projects.hmacKeys.list")
			mustRun(t, driver, names, []step{callGrant("")})
			on.Faults.Clear()
			mustRun(t, driver, names, []step{callGrant("")})
			if now := on.Inventory().Accounts[0].HMAC; !maps.Equal(now, delivered) {
				t.Errorf("keys are %v, and %v was delivered", now, delivered)
			}
			mustRun(t, driver, names, []step{callRevoke})
		},
		"a revoke that still sees the key that another one removed": func(t *testing.T, on google, driver driverkit.Driver, names names) {
			t.Helper()
			mustRun(t, driver, names, []step{callGrant(""), callRevoke})
			// As many calls as lead from the deletion of the key to the second look at its state.
			behind(t, on, "iam.projects.serviceAccounts.get", 8)
			behind(t, on, "storage.projects.hmacKeys.*", 8)
			mustRun(t, driver, names, []step{callRevoke})
		},
		"a grant that still sees the service account that was revoked makes another": func(t *testing.T, on google, driver driverkit.Driver, names names) {
			t.Helper()
			mustRun(t, driver, names, []step{callGrant(""), callRevoke})
			behind(t, on, "iam.projects.serviceAccounts.get", 4)
			mustRun(t, driver, names, []step{callGrant("")})
			on.Faults.Clear()
			if held := on.Inventory().Accounts; len(held) != 1 || len(held[0].HMAC) != 1 {
				t.Errorf("accounts are %+v", held)
			}
			mustRun(t, driver, names, []step{callRevoke})
		},
		"a creation that does not see the bucket of another one returns it": func(t *testing.T, on google, driver driverkit.Driver, names names) {
			t.Helper()
			names.bucket = "bc-" + uuid.NewString()
			mustRun(t, driver, names, []step{callCreate})
			behind(t, on, "storage.buckets.get", 3)
			mustRun(t, driver, names, []step{callCreate})
			on.Faults.Clear()
			mustRun(t, driver, names, []step{callDelete})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, store := startGoogle(t, gcsfake.Options{Past: true}), credstore.NewMemory()
			on.readLag = "1ms"
			names := names{bucket: "bc-" + uuid.NewString(), account: drivertest.NewAccount(), credentials: "hmac"}
			driver := bare(t, on, store, nil)
			mustRun(t, driver, names, []step{callCreate})
			test(t, on, driver, names)
			on.Faults.Clear()
			mustRun(t, driver, names, []step{callDelete})
			if held := on.Inventory(); len(held.Accounts)+len(held.Buckets)+len(store.Accounts()) > 0 {
				t.Errorf("left are %+v and %v", held, store.Accounts())
			}
		})
	}
}

// lagging lets reads of one kind see nothing of the last hour.
func lagging(t *testing.T, on google, operation string) {
	t.Helper()
	stale(t, on, fault.Rule{Operation: operation, LagTime: fault.Duration(time.Hour)})
}

// behind lets reads of one kind see nothing of the last calls.
func behind(t *testing.T, on google, operation string, calls int) {
	t.Helper()
	stale(t, on, fault.Rule{Operation: operation, Lag: calls})
}

func stale(t *testing.T, on google, rule fault.Rule) {
	t.Helper()
	rule.Effect = fault.Stale
	mustSucceed(t, on.Faults.Add(rule))
}

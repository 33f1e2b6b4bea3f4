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

// TestLaggingReads has reads that see nothing of what the test did, until the lag ends.
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, store := startGoogle(t, gcsfake.Options{Past: true}), credstore.NewMemory()
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
	if err := on.Faults.Add(fault.Rule{Operation: operation, Effect: fault.Stale, LagTime: fault.Duration(time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

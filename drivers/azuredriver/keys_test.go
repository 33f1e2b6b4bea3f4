// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// keyRole is the role that the documentation requires for reading account keys by name.
const keyRole = "Storage Account Key Operator Service Role"

// managed is a driver's configuration with the name of an account key in place of a key, and the one role that the
// documentation asks for.
type managed struct {
	*federation

	// assignment is that of the role.
	assignment string
}

func startManaged(t *testing.T, key string) *managed {
	t.Helper()
	f := startFederation(t, azurefake.Options{Deletion: -1}, "https://issuer.example.com")
	login := f.config.ServiceAccounts.Credentials
	for _, one := range f.server.Inventory().Assignments {
		wantNoError(t, f.server.Unassign(one.ID))
	}
	made := &managed{federation: f}
	var err error
	made.assignment, err = f.server.Assign(f.driver.ObjectID, keyRole, f.server.ResourceID(mainAccount))
	wantNoError(t, err)
	account := f.config.Backends[mainAccount]
	account.Credentials = login
	account.Credentials.AccountKeyName = key
	f.config.Backends = map[string]azuredriver.BackendConfig{mainAccount: account}
	f.config.ServiceAccounts = azuredriver.ServiceAccountsConfig{}
	return made
}

func (m *managed) processAt(t *testing.T, now *clock) *world {
	t.Helper()
	return newProcess(t, m.server, worldOptions{fake: azurefake.Options{Now: now.Now}, config: func(config *azuredriver.Config) { *config = m.config }})
}

// listings counts the calls for keys.
func (m *managed) listings() int {
	count := 0
	for _, call := range m.server.Calls() {
		if call.Operation == "Accounts.ListKeys" {
			count++
		}
	}
	return count
}

// TestTheKeyFromManagement has no key in the configuration: the driver reads it with its Microsoft Entra identity.
func TestTheKeyFromManagement(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"key1": "key2", "key2": "key1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, m := &clock{}, startManaged(t, name)
			w := m.processAt(t, now)
			w.AwaitBackends(t) // with the current key, or a later check would find that it has been replaced
			workload := (&keyless{trusted: m.trusted}).workload
			revision := func() string {
				info, err := w.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
				wantNoError(t, err)
				return info.GetRevision()
			}
			bucket := w.NewBucket(t, nil)
			request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
			first, before := w.MustGrant(t, request), revision()
			wantNoError(t, list(t.Context(), workload(t, token(first))))
			if asked := m.listings(); asked != 1 {
				t.Errorf("the driver asked %d times for its key, want once", asked)
			}

			_, err := m.server.RegenerateKey(mainAccount, name)
			wantNoError(t, err)
			_, err = w.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, codes.Unauthenticated, "credentials")
			next := w.MustGrant(t, request)
			wantNoError(t, list(t.Context(), workload(t, token(next))))
			if token(next) == token(first) || revision() == before {
				t.Error("token or revision did not change")
			}
			_, err = m.server.RegenerateKey(mainAccount, other)
			wantNoError(t, err)
			wantNoError(t, list(t.Context(), workload(t, token(next))))

			// A driver that has lost the permission continues with the cached key.
			wantNoError(t, m.server.Unassign(m.assignment))
			now.advance(2 * time.Minute)
			if again := w.MustGrant(t, request); token(again) != token(next) {
				t.Error("a repeated grant returns something else")
			}
			fresh := m.processAt(t, now)
			_, err = fresh.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, codes.PermissionDenied, "keys of storage account "+mainAccount)
		})
	}
}

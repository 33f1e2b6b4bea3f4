// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// TestTheSecretOfTheApplicationIsReadAgain renews the application's secret under a running driver.
func TestTheSecretOfTheApplicationIsReadAgain(t *testing.T) {
	t.Parallel()
	k := startKeyless(t, nil)
	file, login := k.config.Credentials.ClientSecretFile, k.config.Credentials
	good, err := os.ReadFile(file)
	wantNoError(t, err)
	wantNoError(t, os.Remove(file))
	w := k.process(t) // it starts without
	drivertest.WantCode(t, w.Create(t, "bc-1", nil), codes.Unauthenticated, "secret for its application")
	wantNoError(t, os.WriteFile(file, []byte("wrong"), 0o600))
	drivertest.WantCode(t, w.Create(t, "bc-1", nil), codes.Unauthenticated, "credentials")
	wantNoError(t, os.WriteFile(file, good, 0o600))
	wantNoError(t, w.Create(t, "bc-1", nil))
	// Another secret of another application of the same name, as a renewal is.
	for _, one := range k.server.Inventory().Principals {
		_, err := k.server.AddPrincipal(azurefake.Principal{Name: one.Name, ObjectID: one.ObjectID, ClientID: login.ClientID, Secret: "renewed"})
		wantNoError(t, err)
	}
	fresh := k.process(t)
	drivertest.WantCode(t, fresh.Create(t, "bc-2", nil), codes.Unauthenticated)
	wantNoError(t, os.WriteFile(file, []byte("renewed\n"), 0o600))
	wantNoError(t, fresh.Create(t, "bc-2", nil))
}

// TestTheDefaultChain has no credential in the configuration. The driver's identity comes from the environment, here
// a workload identity, as in an Azure cluster.
//
//nolint:paralleltest // the Azure SDK reads the environment of the process
func TestTheDefaultChain(t *testing.T) {
	c := newCluster(t)
	made, err := c.server.AddPrincipal(azurefake.Principal{Name: "driver-in-a-pod"})
	wantNoError(t, err)
	driverPod := c.pod(t, "", "driver")
	wantNoError(t, c.server.Federate(made.ObjectID, c.config.ServiceAccounts.Issuer, "system:serviceaccount:"+driverPod.namespace+":driver", entraAudience))
	for _, role := range append([]string{"Storage Blob Data Owner"}, rolesOfDriver...) {
		_, err := c.server.Assign(made.ObjectID, role, c.server.GroupID())
		wantNoError(t, err)
	}
	file := filepath.Join(t.TempDir(), "token")
	wantNoError(t, os.WriteFile(file, []byte(driverPod.token(t, entraAudience)), 0o600))
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": c.server.TenantID(), "AZURE_CLIENT_ID": made.ClientID, "AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_AUTHORITY_HOST": c.server.URL(),
	} {
		t.Setenv(name, value)
	}
	config := c.config
	config.ServiceAccounts.Credentials = azuredriver.CredentialsConfig{Authority: c.server.URL()}
	account := config.Backends[mainAccount]
	account.Signing, account.Credentials = azuredriver.SigningUserDelegation, config.ServiceAccounts.Credentials
	config.Backends = map[string]azuredriver.BackendConfig{mainAccount: account}
	driver, err := azuredriver.New(azuredriver.Options{Config: config})
	wantNoError(t, err)
	const bucket = "bc-1"
	_, err = driver.CreateBucket(t.Context(), driverkit.CreateBucketRequest{BucketID: bucket})
	wantNoError(t, err)
	for name, err := range driver.CheckBackends(t.Context()) {
		if err != nil {
			t.Errorf("%s does not respond: %v", name, err)
		}
	}
	cell := &identityCell{federation: c.federation, buckets: []string{bucket}, account: drivertest.NewAccount()}
	wantNoError(t, cell.grant(t.Context(), driver))
	cell.account = drivertest.NewAccount()
	access, err := driver.GrantAccess(t.Context(), keyRequest(cell.account, bucket))
	wantNoError(t, err)
	k := &keyless{trusted: c.trusted}
	wantNoError(t, list(t.Context(), k.workload(t, access.Credential.Azure.Token.Reveal())))
}

func keyRequest(account, bucket string) driverkit.GrantAccessRequest {
	return driverkit.GrantAccessRequest{AccountID: account, AccessSpec: driverkit.AccessSpec{
		Protocol: driverkit.Azure, AuthType: driverkit.Key,
		Buckets: []driverkit.BucketAccess{{BucketID: bucket, ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any}},
	}}
}

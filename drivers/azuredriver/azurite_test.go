// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// azuriteKey is the documented key of Azurite's account, which has the name of our fake's.
const azuriteKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

// TestAzurite does on Azurite, if AZURITE has its URL, what depends on how a service reads signatures and
// policies: it is the one implementation that Microsoft publishes.
func TestAzurite(t *testing.T) {
	t.Parallel()
	endpoint := os.Getenv("AZURITE")
	if endpoint == "" {
		t.Skip("AZURITE is not set to the URL of a running Azurite, such as http://127.0.0.1:10000")
	}
	driver, err := azuredriver.New(azuredriver.Options{Config: azuredriver.Config{Accounts: map[string]azuredriver.AccountConfig{mainAccount: {
		Endpoint: endpoint, Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(azuriteKey)},
	}}}})
	wantNoError(t, err)
	w := &world{Client: drivertest.Serve(t, driver, driverkit.Options{})}
	bucket, account := "bc-"+uuid.NewString(), newAccount()
	wantNoError(t, w.create(t, bucket, map[string]string{"metadata": `{"Team":"a"}`}))
	wantNoError(t, w.create(t, bucket, map[string]string{"metadata": `{"Team":"a"}`}))

	reader, writer := newAccount(), newAccount()
	full := w.mustGrant(t, grantRequest(account, mode{data: cosi.AccessMode_READ_WRITE, objectMetadata: cosi.AccessMode_READ_WRITE}, bucket))
	client := workload(t, full)
	wantNoError(t, upload(t.Context(), client, "a"))
	wantNoError(t, download(t.Context(), client, "a"))
	wantNoError(t, list(t.Context(), client))
	const denied = "AuthorizationPermissionMismatch"
	limited := workload(t, w.mustGrant(t, grantRequest(reader, readOnly, bucket)))
	wantNoError(t, download(t.Context(), limited, "a"))
	if code := azureCode(t, upload(t.Context(), limited, "b")); code != denied {
		t.Errorf("writing with read-only access: %q", code)
	}
	limited = workload(t, w.mustGrant(t, grantRequest(writer, writeOnly, bucket)))
	wantNoError(t, upload(t.Context(), limited, "b"))
	if code := azureCode(t, download(t.Context(), limited, "b")); code != denied {
		t.Errorf("reading with write-only access: %q", code)
	}

	rotation := grantRequest(account, mode{data: cosi.AccessMode_READ_WRITE, objectMetadata: cosi.AccessMode_READ_WRITE}, bucket)
	rotation.Rotation = "1"
	rotated := w.mustGrant(t, rotation)
	wantNoError(t, list(t.Context(), workload(t, rotated)))
	wantNoError(t, list(t.Context(), client))
	if again := w.mustGrant(t, rotation); token(again) != token(rotated) {
		t.Error("a repeated grant answers something else")
	}
	for _, one := range []string{account, reader, writer} {
		w.mustRevoke(t, one, bucket)
	}
	for name, dead := range map[string]*cosi.DriverGrantBucketAccessResponse{"former": full, "rotated": rotated} {
		if list(t.Context(), workload(t, dead)) == nil {
			t.Errorf("the %s token works after revoke", name)
		}
	}
	if w.delete(t, bucket, nil) == nil {
		t.Error("a container with blobs was deleted")
	}
	wantNoError(t, w.delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
}

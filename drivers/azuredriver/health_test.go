// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestWhatDoesNotRespond reports on each storage account, and on Azure Resource Manager.
func TestWhatDoesNotRespond(t *testing.T) {
	t.Parallel()
	const second = "second"
	accounts := []azurefake.Account{{Name: mainAccount}, {Name: second}}
	f := startFederation(t, azurefake.Options{Accounts: accounts}, "https://issuer.example.com")
	wrong := f.config.Backends[mainAccount]
	wrong.ResourceID, wrong.Credentials.AccountKey = "", cosi.NewSecret("d3Jvbmc=")
	f.config.Backends[second] = wrong
	f.config.DefaultBackend = mainAccount
	driver, err := azuredriver.New(azuredriver.Options{Config: f.config})
	wantNoError(t, err)
	results := driver.CheckBackends(t.Context())
	if err := results[second]; len(results) != 3 || err == nil || !strings.Contains(err.Error(), "AuthenticationFailed") {
		t.Errorf("the results are %v, want AuthenticationFailed for the wrong key, and two others", results)
	}
	for _, name := range []string{mainAccount, "management"} {
		if err := results[name]; err != nil {
			t.Errorf("%s does not respond: %v", name, err)
		}
	}
}

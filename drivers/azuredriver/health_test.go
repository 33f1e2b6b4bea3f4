// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestWhatDoesNotRespond reports on each storage account, and on Azure Resource Manager.
func TestWhatDoesNotRespond(t *testing.T) {
	t.Parallel()
	const second = "second"
	accounts := []azurefake.Account{{Name: mainAccount, KeepsContainers: 7}, {Name: second}}
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

// TestDeletedContainersAreKept warns where they are not, or where the driver cannot see it.
func TestDeletedContainersAreKept(t *testing.T) {
	t.Parallel()
	const off, unseen = "soft delete is not enabled", "cannot check whether soft delete is enabled"
	serviceAccounts := func(*azuredriver.Config, *azuredriver.BackendConfig) {}
	keyAlone := func(c *azuredriver.Config, _ *azuredriver.BackendConfig) {
		c.ServiceAccounts, c.Management = azuredriver.ServiceAccountsConfig{}, azuredriver.ManagementConfig{}
	}
	keyName := func(c *azuredriver.Config, account *azuredriver.BackendConfig) {
		account.Credentials, c.ServiceAccounts = c.ServiceAccounts.Credentials, azuredriver.ServiceAccountsConfig{}
		account.Credentials.AccountKeyName = "key1"
	}
	delegation := func(c *azuredriver.Config, account *azuredriver.BackendConfig) {
		keyName(c, account)
		account.Signing, account.Credentials.AccountKeyName = azuredriver.SigningUserDelegation, ""
	}
	for name, test := range map[string]struct {
		days   int
		change func(*azuredriver.Config, *azuredriver.BackendConfig)
		// roles take the place of those that the documentation asks for.
		roles []string
		wants []string
	}{
		"with service accounts, and they are":            {7, serviceAccounts, nil, nil},
		"with service accounts, and they are not":        {0, serviceAccounts, nil, []string{off}},
		"with the name of a key, and they are":           {7, keyName, []string{keyRole, "Reader"}, nil},
		"with the name of a key, and they are not":       {0, keyName, []string{keyRole, "Reader"}, []string{off}},
		"with the name of a key, and no right to see it": {7, keyName, []string{keyRole}, []string{unseen, "AuthorizationFailed", "Reader"}},
		"with signing userDelegation, and they are":      {7, delegation, []string{"Storage Blob Data Owner", "Reader"}, nil},
		"with signing userDelegation, and they are not":  {0, delegation, []string{"Storage Blob Data Owner", "Reader"}, []string{off}},
		"with a key alone, which is not told about it":   {7, keyAlone, nil, []string{unseen, "resourceID"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFederation(t, azurefake.Options{Accounts: []azurefake.Account{{Name: mainAccount, KeepsContainers: test.days}}}, "https://issuer.example.com")
			if test.roles != nil {
				for _, one := range f.server.Inventory().Assignments {
					wantNoError(t, f.server.Unassign(one.ID))
				}
			}
			for _, role := range test.roles {
				_, err := f.server.Assign(f.driver.ObjectID, role, f.server.ResourceID(mainAccount))
				wantNoError(t, err)
			}
			account := f.config.Backends[mainAccount]
			// No endpoint is configured, as at Azure.
			account.Endpoint, account.EndpointSuffix = "", "blob.localhost"
			test.change(&f.config, &account)
			f.config.Backends[mainAccount] = account
			driver, err := azuredriver.New(azuredriver.Options{Config: f.config, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
				return toFake{next, strings.TrimPrefix(f.server.URL(), "https://")}
			}})
			wantNoError(t, err)
			warned := driver.CheckBackends(t.Context())[mainAccount]
			if _, ok := errors.AsType[driverkit.Warning](warned); ok != (test.wants != nil) || !ok && warned != nil {
				t.Errorf("the result is %v, want a warning with %q", warned, test.wants)
			}
			for _, want := range test.wants {
				wantRefused(t, "the result", warned, want)
			}
		})
	}
}

// toFake redirects requests for Azure's hosts to the fake.
type toFake struct {
	next    http.RoundTripper
	address string
}

// RoundTrip implements http.RoundTripper.
func (f toFake) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Host, request.URL.Host = request.URL.Host, f.address
	return f.next.RoundTrip(request)
}

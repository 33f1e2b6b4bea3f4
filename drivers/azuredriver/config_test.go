// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestParseConfigFillsInDefaults(t *testing.T) {
	t.Parallel()
	got, err := azuredriver.Format().Parse([]byte(`
accounts:
  prod: {credentials: {accountKeyFile: /keys/prod}}
  china: {endpointSuffix: blob.core.chinacloudapi.cn, credentials: {accountKeyFile: /keys/china}}
  lab: {endpoint: 'http://localhost:10000', credentials: {accountKeyFile: /keys/lab}}
defaultAccount: prod
`))
	if err != nil {
		t.Fatal(err)
	}
	key := func(file string) azuredriver.CredentialsConfig {
		return azuredriver.CredentialsConfig{AccountKeyFile: "/keys/" + file}
	}
	want := azuredriver.Config{
		DriverName: "azure.cooper.dev", DefaultBackend: "prod", RecordsContainer: "cosi-accesses",
		Backends: map[string]azuredriver.BackendConfig{
			"prod":  {EndpointSuffix: "blob.core.windows.net", Addressing: "host", Signing: "accountKey", Credentials: key("prod")},
			"china": {EndpointSuffix: "blob.core.chinacloudapi.cn", Addressing: "host", Signing: "accountKey", Credentials: key("china")},
			"lab":   {Endpoint: "http://localhost:10000", Addressing: "path", Signing: "accountKey", Credentials: key("lab")},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
}

func TestParseConfigSaysEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	account := func(fields string) string {
		return "accounts: {abc: {credentials: {accountKeyFile: /key}, " + fields + "}}"
	}
	federated := func(fields string) string {
		return "{serviceAccounts: {" + fields + "}, accounts: {abc: {credentials: {accountKeyFile: /key}}}}"
	}
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"not YAML":                           {"accounts: [", []string{"not valid"}},
		"a field with a typo":                {account("endpont: x"), []string{"accounts.abc.endpont: there is no such field; did you mean accounts.abc.endpoint?"}},
		"no account":                         {"driverName: azure.example.com", []string{"accounts: at least one"}},
		"several without a default":          {"accounts: {abc: {}, def: {}}", []string{"defaultAccount: is required", "abc, def"}},
		"a default that is not there":        {"{defaultAccount: xyz, accounts: {abc: {}}}", []string{`defaultAccount: "xyz"`}},
		"an account name that Azure has not": {"accounts: {a-b: {}}", []string{`"a-b"`, "3 to 24"}},
		"a driver name with capitals":        {"{driverName: Azure.example.com, accounts: {abc: {}}}", []string{"driverName"}},
		"no key":                             {"accounts: {abc: {}}", []string{"accounts.abc.credentials", "accountKeyFile"}},
		"an endpoint without a scheme":       {account("endpoint: 'localhost:10000'"), []string{"accounts.abc.endpoint"}},
		"an endpoint with a path":            {account("endpoint: 'http://h/abc'"), []string{"must end after the host"}},
		"an endpoint with a password":        {account("endpoint: 'http://u:pw@h'"), []string{"must not contain a user"}},
		"an addressing that is none":         {account("addressing: dns"), []string{"path, host"}},
		"a path without an endpoint":         {account("addressing: path"), []string{"requires an endpoint"}},
		"a suffix with an endpoint":          {account("endpoint: 'http://h', endpointSuffix: blob.example.com"), []string{"endpointSuffix"}},
		"a suffix that is a URL":             {account("endpointSuffix: 'https://blob.example.com'"), []string{"not a domain"}},
		"a CA without TLS":                   {account("endpoint: 'http://h', caFile: " + noPEM), []string{"does not use TLS", "no PEM"}},
		"a CA file that is missing":          {account("caFile: /nowhere"), []string{"/nowhere"}},
		"a signing that is none":             {account("signing: hmac"), []string{"accountKey, userDelegation"}},
		"an account key with delegation":     {account("signing: userDelegation"), []string{"does not use an account key"}},
		"half an application":                {"accounts: {abc: {signing: userDelegation, credentials: {clientID: x}}}", []string{"require each other"}},
		"delegation without TLS":             {"accounts: {abc: {signing: userDelegation, endpoint: 'http://h'}}", []string{"does not use TLS"}},
		"an identity without anything":       {federated("issuer: 'https://i'"), []string{"subscriptionID", "resourceGroup", "location", "no account has a resourceID"}},
		"an issuer without TLS":              {federated("issuer: 'http://i'"), []string{"serviceAccounts.issuer", "https"}},
		"service accounts without an issuer": {federated("location: x"), []string{"serviceAccounts.issuer: is required"}},
		"a role by its name":                 {federated("issuer: 'https://i', roles: {writeOnly: Writer}"), []string{`"Writer"`, "UUID"}},
		"a key for identities":               {federated("issuer: 'https://i', credentials: {accountKeyFile: /key}"), []string{"does not accept an account key"}},
		"a management endpoint without TLS":  {"{management: {endpoint: 'http://m'}, accounts: {abc: {credentials: {accountKeyName: key1}}}}", []string{"management.endpoint", "accounts.abc.resourceID: is required"}},
		"a lag of management that is none":   {"{management: {readLag: long}, accounts: {abc: {credentials: {accountKeyName: key1}}}}", []string{"management.readLag"}},
		"a management endpoint for nothing":  {"{management: {endpoint: 'https://m'}, accounts: {abc: {credentials: {accountKeyFile: /key}}}}", []string{"management: is only for"}},
		"the name of a key with a key":       {"accounts: {abc: {credentials: {accountKeyFile: /key, accountKeyName: key1}}}", []string{"either the account key or accountKeyName"}},
		"the name of a key that is none":     {"accounts: {abc: {credentials: {accountKeyName: primary}}}", []string{`"primary"`, "key1, key2"}},
		"a resource ID that is none":         {account("resourceID: /abc"), []string{"accounts.abc.resourceID"}},
		"a container that cannot be":         {"{recordsContainer: A, accounts: {abc: {}}}", []string{"recordsContainer"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := azuredriver.Format().Parse([]byte(test.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "pw") {
				t.Errorf("error %q holds a password", err)
			}
		})
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"AZURE_DRIVER_ACCOUNT": "abc", "AZURE_DRIVER_ACCOUNT_KEY": "c2VjcmV0", "AZURE_DRIVER_ENDPOINT": "https://blob.example.com",
		"AZURE_DRIVER_NAME": "azure.example.com", "AZURE_DRIVER_ADDRESSING": "host",
	}
	lookup := func(name string) (string, bool) { value, set := variables[name]; return value, set }
	got, err := azuredriver.Format().FromEnvironment(lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := azuredriver.Config{
		DriverName: "azure.example.com", DefaultBackend: "abc", RecordsContainer: "cosi-accesses",
		Backends: map[string]azuredriver.BackendConfig{"abc": {
			Endpoint: "https://blob.example.com", Addressing: "host", Signing: "accountKey", Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret("c2VjcmV0")},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
	variables["AZURE_DRIVER_ACCOUNT_KEY"] = "no-base64!"
	if _, err := azuredriver.Format().FromEnvironment(lookup); err == nil || !strings.Contains(err.Error(), "base64") || strings.Contains(err.Error(), "no-base64!") {
		t.Errorf("a key that is none: %v", err)
	}
	delete(variables, "AZURE_DRIVER_ACCOUNT")
	if _, err := azuredriver.Format().FromEnvironment(lookup); err == nil || !strings.Contains(err.Error(), "AZURE_DRIVER_ACCOUNT ") {
		t.Errorf("no account: %v", err)
	}
}

// TestServiceAccountsFromEnvironment has one application for both: the keyless account and Azure Resource Manager.
func TestServiceAccountsFromEnvironment(t *testing.T) {
	t.Parallel()
	const subscription = "6c6f6b2e-5f0c-4f2c-8a53-3f2d8d6f3c11"
	id := "/subscriptions/" + subscription + "/resourceGroups/cosi/providers/Microsoft.Storage/storageAccounts/abc"
	variables := map[string]string{
		"AZURE_DRIVER_ACCOUNT": "abc", "AZURE_DRIVER_RESOURCE_ID": id, "AZURE_DRIVER_ISSUER": "https://issuer.example.com",
		"AZURE_DRIVER_SUBSCRIPTION_ID": subscription, "AZURE_DRIVER_RESOURCE_GROUP": "cosi", "AZURE_DRIVER_LOCATION": "westeurope",
		"AZURE_DRIVER_TENANT_ID": "t", "AZURE_DRIVER_CLIENT_ID": "c", "AZURE_DRIVER_CLIENT_SECRET_FILE": "/secret",
	}
	lookup := func(name string) (string, bool) { value, set := variables[name]; return value, set }
	application := azuredriver.CredentialsConfig{TenantID: "t", ClientID: "c", ClientSecretFile: "/secret"}
	for name, test := range map[string]struct {
		variable, value string
		want            azuredriver.CredentialsConfig
	}{
		"with the name of a key": {"AZURE_DRIVER_ACCOUNT_KEY_NAME", "key2", azuredriver.CredentialsConfig{
			AccountKeyName: "key2", TenantID: "t", ClientID: "c", ClientSecretFile: "/secret",
		}},
		"with a key":    {"AZURE_DRIVER_ACCOUNT_KEY", "c2VjcmV0", azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret("c2VjcmV0")}},
		"without a key": {"AZURE_DRIVER_SIGNING", "userDelegation", application},
	} {
		variables[test.variable] = test.value
		got, err := azuredriver.Format().FromEnvironment(lookup)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		delete(variables, test.variable)
		if diff := cmp.Diff(test.want, got.Backends["abc"].Credentials); diff != "" {
			t.Errorf("%s: credentials of the account (-want +got):\n%s", name, diff)
		}
		want := azuredriver.ServiceAccountsConfig{
			Issuer: "https://issuer.example.com", SubscriptionID: subscription, ResourceGroup: "cosi", Location: "westeurope", Audience: "api://AzureADTokenExchange", Credentials: application,
			Roles: azuredriver.RolesConfig{ReadOnly: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", ReadWrite: "ba92f5b4-2d11-453d-a403-e96b0029c9fe"},
		}
		if diff := cmp.Diff(want, got.ServiceAccounts); diff != "" {
			t.Errorf("%s: service accounts (-want +got):\n%s", name, diff)
		}
		public := azuredriver.ManagementConfig{Endpoint: "https://management.azure.com", Audience: "https://management.azure.com", ReadLag: "1.5s"}
		if diff := cmp.Diff(public, got.Management); diff != "" {
			t.Errorf("%s: management (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoVariableIsReserved(t *testing.T) {
	t.Parallel()
	for _, variable := range azuredriver.Format().Variables {
		if strings.HasPrefix(variable.Name, "COSI_") || variable.Description == "" {
			t.Errorf("variable %q (%q)", variable.Name, variable.Description)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("accounts: {abc: {endpoint: 'http://h', credentials: {accountKeyFile: /key}}}"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := azuredriver.Format().Parse(data)
		if err == nil && (config.DefaultBackend == "" || len(config.Backends) == 0) {
			t.Errorf("accepted without an account: %q", data)
		}
	})
}

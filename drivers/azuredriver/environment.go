// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"fmt"

	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// EnvironmentPrefix is the prefix of the environment variables that configure the driver. The prefix COSI_ is
// reserved for variables that COSI defines for all drivers.
const EnvironmentPrefix = "AZURE_DRIVER_"

// Format returns the format of the configuration: YAML in a file, or environment variables for a driver with one
// storage account.
func Format() settings.Format[Config, BackendConfig] {
	return settings.Format[Config, BackendConfig]{
		Backend: "storage account", Variables: variables(), Complete: Config.complete, Reach: Config.reach,
		Single: single,
	}
}

func variables() []settings.Variable[Config, BackendConfig] {
	return []settings.Variable[Config, BackendConfig]{
		{Name: EnvironmentPrefix + "NAME", Description: "Name of the driver.", Set: func(c *Config, _ *BackendConfig, v string) { c.DriverName = v }},
		{Name: EnvironmentPrefix + "CLUSTER", Description: "Name of the cluster, with which the driver marks everything that it creates.", Set: func(c *Config, _ *BackendConfig, v string) { c.Cluster = v }},
		{Name: EnvironmentPrefix + "ACCOUNT", Description: "Name of the storage account.", Set: func(c *Config, _ *BackendConfig, v string) { c.DefaultBackend = v }},
		{
			Name: EnvironmentPrefix + "ACCOUNT_KEY", Description: "Key of the storage account, in base64.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.AccountKey = cosi.NewSecret(v) },
		},
		{
			Name: EnvironmentPrefix + "ACCOUNT_KEY_NAME", Description: "Name of the key to read from Azure Resource Manager: key1 or key2.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.AccountKeyName = v },
		},
		{Name: EnvironmentPrefix + "SIGNING", Description: "accountKey or userDelegation.", Set: func(_ *Config, a *BackendConfig, v string) { a.Signing = Signing(v) }},
		{
			Name: EnvironmentPrefix + "TENANT_ID", Description: "Tenant of the driver's application, for signing userDelegation, ACCOUNT_KEY_NAME and service accounts.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.TenantID = v },
		},
		{Name: EnvironmentPrefix + "CLIENT_ID", Description: "Client ID of the driver's application.", Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.ClientID = v }},
		{
			Name: EnvironmentPrefix + "CLIENT_SECRET_FILE", Description: "File with the secret of the driver's application.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.ClientSecretFile = v },
		},
		{Name: EnvironmentPrefix + "AUTHORITY", Description: "URL of Microsoft Entra in a sovereign cloud.", Set: func(_ *Config, a *BackendConfig, v string) { a.Credentials.Authority = v }},
		{Name: EnvironmentPrefix + "ENDPOINT", Description: "URL of the Blob service. Default: Azure's public endpoint.", Set: func(_ *Config, a *BackendConfig, v string) { a.Endpoint = v }},
		{Name: EnvironmentPrefix + "ENDPOINT_SUFFIX", Description: "Domain of the Blob service in a sovereign cloud.", Set: func(_ *Config, a *BackendConfig, v string) { a.EndpointSuffix = v }},
		{Name: EnvironmentPrefix + "ADDRESSING", Description: "path or host.", Set: func(_ *Config, a *BackendConfig, v string) { a.Addressing = Addressing(v) }},
		{
			Name: EnvironmentPrefix + "PUBLIC_ENDPOINT", Description: "URL of the Blob service for workloads, if it differs.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.PublicEndpoint = v },
		},
		{
			Name: EnvironmentPrefix + "INSECURE", Description: "true allows endpoints without TLS on other hosts.",
			Set: func(_ *Config, a *BackendConfig, v string) { a.Insecure = v == "true" },
		},
		{Name: EnvironmentPrefix + "CA_FILE", Description: "PEM file with the CA certificates of the endpoint.", Set: func(_ *Config, a *BackendConfig, v string) { a.CAFile = v }},
		{Name: EnvironmentPrefix + "RESOURCE_ID", Description: "Azure Resource Manager ID of the storage account.", Set: func(_ *Config, a *BackendConfig, v string) { a.ResourceID = v }},
		{
			Name: EnvironmentPrefix + "ISSUER", Description: "URL of the cluster's service account token issuer; enables authentication type ServiceAccount.",
			Set: func(c *Config, _ *BackendConfig, v string) { c.ServiceAccounts.Issuer = v },
		},
		{Name: EnvironmentPrefix + "AUDIENCE", Description: "Audience of these tokens in a sovereign cloud.", Set: func(c *Config, _ *BackendConfig, v string) { c.ServiceAccounts.Audience = v }},
		{
			Name: EnvironmentPrefix + "SUBSCRIPTION_ID", Description: "Subscription of identities for service accounts.",
			Set: func(c *Config, _ *BackendConfig, v string) { c.ServiceAccounts.SubscriptionID = v },
		},
		{
			Name: EnvironmentPrefix + "RESOURCE_GROUP", Description: "Resource group of identities for service accounts.",
			Set: func(c *Config, _ *BackendConfig, v string) { c.ServiceAccounts.ResourceGroup = v },
		},
		{Name: EnvironmentPrefix + "LOCATION", Description: "Location of identities for service accounts.", Set: func(c *Config, _ *BackendConfig, v string) { c.ServiceAccounts.Location = v }},
		{
			Name: EnvironmentPrefix + "MANAGEMENT_ENDPOINT", Description: "URL of Azure Resource Manager. Default: Azure's public cloud.",
			Set: func(c *Config, _ *BackendConfig, v string) { c.Management.Endpoint = v },
		},
		{
			Name: EnvironmentPrefix + "READ_LAG", Description: "Maximum time until reads from Azure Resource Manager return a completed write, such as 1.5s.",
			Set: func(c *Config, _ *BackendConfig, v string) { c.Management.ReadLag = settings.ReadLag(v) },
		},
	}
}

// single makes account the only one, with the name that the variables set.
func single(config *Config, account BackendConfig) error {
	if config.DefaultBackend == "" {
		return fmt.Errorf("%sACCOUNT must name the storage account", EnvironmentPrefix)
	}
	if config.ServiceAccounts.enabled() {
		config.ServiceAccounts.Credentials = account.Credentials.application()
		if account.Signing != SigningUserDelegation && account.Credentials.AccountKeyName == "" {
			account.Credentials = CredentialsConfig{AccountKey: account.Credentials.AccountKey}
		}
	}
	config.Backends = map[string]BackendConfig{config.DefaultBackend: account}
	if config.managed() {
		config.Management.CAFile = account.CAFile
	}
	return nil
}

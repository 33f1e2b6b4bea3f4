// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"fmt"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// EnvironmentPrefix begins the environment variables that configure the driver. Variables that begin
// with COSI_ are reserved for what COSI tells every driver.
const EnvironmentPrefix = "AZURE_DRIVER_"

// Variable is an environment variable of the simple configuration.
type Variable struct {
	// Name is the whole name.
	Name string
	// Description says what it sets.
	Description string
	set         func(config *Config, account *AccountConfig, value string)
}

// Variables lists the environment variables that describe a driver with one storage account, for
// cases that need no file.
func Variables() []Variable {
	return []Variable{
		{EnvironmentPrefix + "NAME", "Name of the driver.", func(c *Config, _ *AccountConfig, v string) { c.DriverName = v }},
		{EnvironmentPrefix + "CLUSTER", "Mark of the cluster on everything that is made.", func(c *Config, _ *AccountConfig, v string) { c.Cluster = v }},
		{EnvironmentPrefix + "ACCOUNT", "Name of the storage account.", func(c *Config, _ *AccountConfig, v string) { c.DefaultAccount = v }},
		{EnvironmentPrefix + "ACCOUNT_KEY", "Key of the storage account, in base64.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.AccountKey = cosi.NewSecret(v) }},
		{EnvironmentPrefix + "ACCOUNT_KEY_NAME", "key1 or key2, to ask Azure Resource Manager for the key.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.AccountKeyName = v }},
		{EnvironmentPrefix + "SIGNING", "accountKey or userDelegation.", func(_ *Config, a *AccountConfig, v string) { a.Signing = Signing(v) }},
		{EnvironmentPrefix + "TENANT_ID", "Tenant of the application that the driver is with signing userDelegation, for account keys by their name, and for service accounts.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.TenantID = v }},
		{EnvironmentPrefix + "CLIENT_ID", "Client ID of that application.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.ClientID = v }},
		{EnvironmentPrefix + "CLIENT_SECRET_FILE", "File with the secret of that application.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.ClientSecretFile = v }},
		{EnvironmentPrefix + "AUTHORITY", "URL of Microsoft Entra in a sovereign cloud.", func(_ *Config, a *AccountConfig, v string) { a.Credentials.Authority = v }},
		{EnvironmentPrefix + "ENDPOINT", "URL of the Blob service; unset means Azure.", func(_ *Config, a *AccountConfig, v string) { a.Endpoint = v }},
		{EnvironmentPrefix + "ENDPOINT_SUFFIX", "Domain of the Blob service in a sovereign cloud.", func(_ *Config, a *AccountConfig, v string) { a.EndpointSuffix = v }},
		{EnvironmentPrefix + "ADDRESSING", "path or host.", func(_ *Config, a *AccountConfig, v string) { a.Addressing = Addressing(v) }},
		{EnvironmentPrefix + "PUBLIC_ENDPOINT", "URL of the Blob service for workloads, if it is another.", func(_ *Config, a *AccountConfig, v string) { a.PublicEndpoint = v }},
		{EnvironmentPrefix + "CA_FILE", "PEM file with the certificate authorities of the endpoint.", func(_ *Config, a *AccountConfig, v string) { a.CAFile = v }},
		{EnvironmentPrefix + "RESOURCE_ID", "ID of the storage account at Azure Resource Manager.", func(_ *Config, a *AccountConfig, v string) { a.ResourceID = v }},
		{EnvironmentPrefix + "ISSUER", "URL of the cluster's issuer of service account tokens; offers authentication type ServiceAccount.", func(c *Config, _ *AccountConfig, v string) { c.ServiceAccounts.Issuer = v }},
		{EnvironmentPrefix + "AUDIENCE", "Audience of those tokens in a sovereign cloud.", func(c *Config, _ *AccountConfig, v string) { c.ServiceAccounts.Audience = v }},
		{EnvironmentPrefix + "SUBSCRIPTION_ID", "Subscription of identities for service accounts.", func(c *Config, _ *AccountConfig, v string) { c.ServiceAccounts.SubscriptionID = v }},
		{EnvironmentPrefix + "RESOURCE_GROUP", "Resource group of identities for service accounts.", func(c *Config, _ *AccountConfig, v string) { c.ServiceAccounts.ResourceGroup = v }},
		{EnvironmentPrefix + "LOCATION", "Location of identities for service accounts.", func(c *Config, _ *AccountConfig, v string) { c.ServiceAccounts.Location = v }},
		{EnvironmentPrefix + "MANAGEMENT_ENDPOINT", "URL of Azure Resource Manager; unset means Azure's public cloud.", func(c *Config, _ *AccountConfig, v string) { c.Management.Endpoint = v }},
	}
}

// ConfigFromEnvironment describes a driver with one storage account by the Variables. Lookup answers a
// variable's value, as os.LookupEnv does. Variables that begin with the prefix and have another name
// are no concern of this function.
func ConfigFromEnvironment(lookup func(string) (string, bool)) (Config, error) {
	var config Config
	var account AccountConfig
	for _, variable := range Variables() {
		if value, set := lookup(variable.Name); set && value != "" {
			variable.set(&config, &account, strings.TrimSpace(value))
		}
	}
	if config.DefaultAccount == "" {
		return Config{}, fmt.Errorf("the configuration by environment variables is not valid: %sACCOUNT must name the storage account", EnvironmentPrefix)
	}
	if config.ServiceAccounts.enabled() || account.Credentials.AccountKeyName != "" {
		config.Management.CAFile = account.CAFile
	}
	if config.ServiceAccounts.enabled() {
		config.ServiceAccounts.Credentials = account.Credentials.application()
		if account.Signing != SigningUserDelegation && account.Credentials.AccountKeyName == "" {
			account.Credentials = CredentialsConfig{AccountKey: account.Credentials.AccountKey}
		}
	}
	config.Accounts = map[string]AccountConfig{config.DefaultAccount: account}
	config, err := config.complete()
	if err != nil {
		return Config{}, fmt.Errorf("the configuration by environment variables is not valid: %w", err)
	}
	return config, nil
}

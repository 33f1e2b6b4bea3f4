// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"maps"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the default driver name.
const DefaultName = "azure.cooper.dev"

// DefaultSuffix is the domain of the Blob service in Azure's public cloud.
const DefaultSuffix = "blob.core.windows.net"

// defaultRecords is the default container for records.
const defaultRecords = "cosi-accesses"

// backendWord is the term for a backend in Azure and in the configuration: a storage account.
const backendWord = "account"

// Config is the configuration of the driver, in the format of its YAML file.
type Config struct {
	// DriverName is the name that classes use. Default: azure.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// The storage account for classes that set none, and for IDs without the name of an account. Required with more
	// than one account.
	DefaultBackend string `json:"defaultAccount,omitempty"`
	// Cluster, if set, is the mark of the cluster on every container that the driver creates. It prevents a clone
	// of the cluster, in which all objects have the same UIDs, from treating these as its own.
	Cluster string `json:"cluster,omitempty"`
	// RecordsContainer is the container of each storage account in which the driver records the bucket of each access.
	// The driver creates it when needed. Default: cosi-accesses.
	RecordsContainer string `json:"recordsContainer,omitempty"`
	// ServiceAccounts, if set, enables authentication type ServiceAccount.
	ServiceAccounts ServiceAccountsConfig `json:"serviceAccounts,omitzero"`
	// Management locates Azure Resource Manager. serviceAccounts and accountKeyName need it, and the check of soft
	// delete with signing userDelegation.
	Management ManagementConfig `json:"management,omitzero"`
	// The storage accounts, by name. The names are part of the IDs of buckets and accounts.
	Backends map[string]BackendConfig `json:"accounts"`
}

// Addressing determines the place of the storage account in URLs of the Blob service.
type Addressing string

// The addressing styles.
const (
	// AddressingPath includes the account in the path: http://127.0.0.1:10000/account/container.
	AddressingPath Addressing = "path"
	// AddressingHost includes the account, if any, in the host: https://account.example.com/container.
	AddressingHost Addressing = "host"
)

// BackendConfig configures one storage account.
type BackendConfig struct {
	// Endpoint is the URL of the Blob service. Default: https://<account>.<endpointSuffix>.
	Endpoint string `json:"endpoint,omitempty"`
	// EndpointSuffix is the domain of the Blob service in a sovereign cloud, such as
	// blob.core.chinacloudapi.cn. Default: blob.core.windows.net.
	EndpointSuffix string `json:"endpointSuffix,omitempty"`
	// Addressing is path (the account's name follows the endpoint) or host (the endpoint belongs to the account).
	// Default: path if an endpoint is set.
	Addressing Addressing `json:"addressing,omitempty"`
	// PublicEndpoint is the URL of the service for workloads, if it differs. It has the same addressing.
	PublicEndpoint string `json:"publicEndpoint,omitempty"`
	// CAFile is a PEM file with the CA certificates for the endpoint. Workloads receive them, too. Default: the
	// system's CA certificates.
	CAFile string `json:"caFile,omitempty"`
	// Insecure allows endpoints without TLS, where keys and objects can be read and changed on the network. Addresses
	// of this host do not need it.
	Insecure bool `json:"insecure,omitempty"`
	// ResourceID is the Azure Resource Manager ID of the storage account:
	// /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>. It is required for
	// authentication type ServiceAccount and for accountKeyName. With it and an identity, the driver also warns if soft
	// delete is not enabled for containers.
	ResourceID string `json:"resourceID,omitempty"`
	// Signing is accountKey, which signs with a key of the storage account, or userDelegation, for accounts that do not
	// accept their keys. With userDelegation, the driver is an application or identity of Microsoft Entra; signatures
	// expire after at most 7 days and are renewed, and a single signature cannot be revoked before it expires. Default:
	// accountKey.
	Signing Signing `json:"signing,omitempty"`
	// Credentials are the driver's own.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
}

// Signing selects what signs the credentials of workloads.
type Signing string

// The ways of signing.
const (
	SigningAccountKey     Signing = "accountKey"
	SigningUserDelegation Signing = "userDelegation"
)

// CredentialsConfig locates the driver's own credentials for a storage account.
type CredentialsConfig struct {
	// AccountKeyFile contains one of the two keys of the storage account, in base64. The driver reads the file again
	// when it changes, and then grants accesses again that were signed with the previous key.
	AccountKeyFile string `json:"accountKeyFile,omitempty"`
	// AccountKey is the key itself, for programs and environment variables.
	AccountKey cosi.Secret `json:"-"`
	// AccountKeyName is key1 or key2, instead of the key itself: the driver reads the key from Azure Resource Manager,
	// and reads it again every minute and when the service rejects it. The driver's identity needs the role Storage
	// Account Key Operator Service Role for the storage account, and the account needs its resourceID.
	AccountKeyName string `json:"accountKeyName,omitempty"`
	// TenantID and ClientID identify the driver's application for signing userDelegation and accountKeyName. Default:
	// the environment of the Azure SDK (workload identity, managed identity, AZURE_CLIENT_ID).
	TenantID string `json:"tenantID,omitempty"`
	// See tenantID.
	ClientID string `json:"clientID,omitempty"`
	// ClientSecretFile contains the secret of the application. The driver reads the file again when it changes.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Authority is the URL of Microsoft Entra in a sovereign cloud. Default:
	// https://login.microsoftonline.com.
	Authority string `json:"authority,omitempty"`
}

// ServiceAccountsConfig lets workloads use containers as their Kubernetes service accounts, without a credential in a
// Secret. Each access gets a managed identity that trusts the tokens of the cluster.
type ServiceAccountsConfig struct {
	// Issuer is the URL of the cluster's service account token issuer, as in the API server's flag
	// --service-account-issuer. Azure fetches the keys from there. If it is not set, the driver does not support
	// authentication type ServiceAccount.
	Issuer string `json:"issuer,omitempty"`
	// SubscriptionID, ResourceGroup and Location determine where the driver creates identities.
	SubscriptionID string `json:"subscriptionID,omitempty"`
	// See subscriptionID.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// See subscriptionID.
	Location string `json:"location,omitempty"`
	// Audience is the audience of the cluster's tokens in a sovereign cloud: api://AzureADTokenExchangeUSGov or
	// api://AzureADTokenExchangeChina. Default: api://AzureADTokenExchange.
	Audience string `json:"audience,omitempty"`
	// Roles are the roles of identities, by access mode.
	Roles RolesConfig `json:"roles,omitzero"`
	// Credentials are the driver's own for Azure Resource Manager. The driver needs the role Managed Identity
	// Contributor for the resource group, and Role Based Access Control Administrator, with the condition in
	// docs/howto/azure-role-condition.txt, for the storage accounts.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
}

// RolesConfig contains role definitions by UUID.
type RolesConfig struct {
	// ReadOnly is the role for object data ReadOnly. Default: Storage Blob Data Reader.
	ReadOnly string `json:"readOnly,omitempty"`
	// ReadWrite is the role for object data ReadWrite. Default: Storage Blob Data Contributor, which also allows to
	// change the container's metadata and to delete the container; a custom role can exclude this.
	ReadWrite string `json:"readWrite,omitempty"`
	// WriteOnly is the role for object data WriteOnly. Default: none, since Azure has no built-in role for this.
	WriteOnly string `json:"writeOnly,omitempty"`
}

// DefaultManagement is the URL of Azure Resource Manager in Azure's public cloud.
const DefaultManagement = "https://management.azure.com"

// ManagementConfig locates Azure Resource Manager.
type ManagementConfig struct {
	// Endpoint is the URL of Azure Resource Manager in a sovereign cloud. Default:
	// https://management.azure.com.
	Endpoint string `json:"endpoint,omitempty"`
	// Audience is the audience of tokens for the endpoint. Default: https://management.azure.com.
	Audience string `json:"audience,omitempty"`
	// CAFile is a PEM file with the CA certificates for the endpoint. Default: the system's CA certificates.
	CAFile string `json:"caFile,omitempty"`
	// ReadLag is the maximum time until reads return a completed write, at most 10s. During this time, the driver
	// repeats reads that find nothing. Default: 1.5s for endpoints that begin with https://management., none for
	// others, such as emulators.
	ReadLag settings.ReadLag `json:"readLag,omitempty"`
}

// table returns the configured roles by access mode.
func (r RolesConfig) table() map[driverkit.Mode]string {
	all := map[driverkit.Mode]string{driverkit.ReadOnly: r.ReadOnly, driverkit.ReadWrite: r.ReadWrite, driverkit.WriteOnly: r.WriteOnly}
	maps.DeleteFunc(all, func(_ driverkit.Mode, id string) bool { return id == "" })
	return all
}

func (s ServiceAccountsConfig) enabled() bool { return s.Issuer != "" }

// url returns the URL of the account, without a trailing slash.
func (b BackendConfig) url(account string) string { return b.join(b.Endpoint, account) }

// publicURL returns the URL of the account that workloads use.
func (b BackendConfig) publicURL(account string) string {
	if b.PublicEndpoint == "" {
		return b.url(account)
	}
	return b.join(b.PublicEndpoint, account)
}

func (b BackendConfig) join(endpoint, account string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	switch {
	case endpoint == "":
		return "https://" + account + "." + b.EndpointSuffix
	case b.Addressing == AddressingPath:
		return endpoint + "/" + account
	default:
		return endpoint
	}
}

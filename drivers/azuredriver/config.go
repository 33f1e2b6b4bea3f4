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
	// The storage account of classes that name none, and of IDs without an account's
	// name. Needed with more than one account.
	DefaultBackend string `json:"defaultAccount,omitempty"`
	// Cluster, if set, is marked on every container that the driver makes, so that the clone of a
	// cluster, in which all objects have the same UIDs, does not take it for its own.
	Cluster string `json:"cluster,omitempty"`
	// RecordsContainer is the container of each storage account in which the driver records for which
	// bucket an access is; it is made when needed. Default: cosi-accesses.
	RecordsContainer string `json:"recordsContainer,omitempty"`
	// ServiceAccounts, if set, offers authentication type ServiceAccount.
	ServiceAccounts ServiceAccountsConfig `json:"serviceAccounts,omitzero"`
	// Management is where Azure Resource Manager is, which serviceAccounts and accountKeyName need, and the check of soft
	// delete with signing userDelegation.
	Management ManagementConfig `json:"management,omitzero"`
	// The storage accounts, by name. Names are part of the IDs of what was made there.
	Backends map[string]BackendConfig `json:"accounts"`
}

// Addressing says where URLs of the Blob service contain the storage account.
type Addressing string

// The addressing styles.
const (
	// AddressingPath has the account in the path: http://127.0.0.1:10000/account/container.
	AddressingPath Addressing = "path"
	// AddressingHost has the account, if any, in the host: https://account.example.com/container.
	AddressingHost Addressing = "host"
)

// BackendConfig configures one storage account.
type BackendConfig struct {
	// Endpoint is the URL of the Blob service. Default: https://<account>.<endpointSuffix>.
	Endpoint string `json:"endpoint,omitempty"`
	// EndpointSuffix is the domain of the Blob service in a sovereign cloud, such as
	// blob.core.chinacloudapi.cn. Default: blob.core.windows.net.
	EndpointSuffix string `json:"endpointSuffix,omitempty"`
	// Addressing is path, where the account's name follows the endpoint, or host, where the endpoint is
	// the account's own. Default: path for an endpoint.
	Addressing Addressing `json:"addressing,omitempty"`
	// PublicEndpoint is the URL that workloads get, if they reach the service by another one. It has the
	// same addressing.
	PublicEndpoint string `json:"publicEndpoint,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed the endpoint's. Workloads get
	// them too. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
	// Insecure accepts endpoints without TLS, at which keys and objects can be read and changed on the way. Addresses
	// of this host need no such word.
	Insecure bool `json:"insecure,omitempty"`
	// ResourceID is the storage account's ID at Azure Resource Manager:
	// /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>. It is
	// needed for authentication type ServiceAccount and for accountKeyName. With it and an identity of its own, the driver
	// also warns if the account does not keep deleted containers.
	ResourceID string `json:"resourceID,omitempty"`
	// Signing is accountKey, which signs with a key of the storage account, or userDelegation, for accounts
	// that do not accept their keys: then the driver is an application or identity of Microsoft Entra, the
	// signatures end after at most 7 days and are renewed, and a single one cannot be revoked before its
	// end. Default: accountKey.
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
	// AccountKeyFile holds one of the two keys of the storage account, in base64. The file is read again
	// when it changes; after that, what the former key signed is granted again.
	AccountKeyFile string `json:"accountKeyFile,omitempty"`
	// AccountKey is the key itself, for programs and environment variables.
	AccountKey cosi.Secret `json:"-"`
	// AccountKeyName is key1 or key2, in place of the key itself: the driver asks Azure Resource Manager for it, and
	// again every minute and when the service does not take it any more. The identity of the driver needs the role
	// Storage Account Key Operator Service Role at the storage account, and the account needs its resourceID.
	AccountKeyName string `json:"accountKeyName,omitempty"`
	// TenantID and ClientID name the application that the driver is with signing userDelegation and with
	// accountKeyName. Default: what the Azure SDK finds in its environment (workload identity, managed identity,
	// AZURE_CLIENT_ID).
	TenantID string `json:"tenantID,omitempty"`
	// ClientID is described at tenantID.
	ClientID string `json:"clientID,omitempty"`
	// ClientSecretFile holds the secret of the application. The file is read again when it changes.
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Authority is the URL of Microsoft Entra in a sovereign cloud. Default:
	// https://login.microsoftonline.com.
	Authority string `json:"authority,omitempty"`
}

// ServiceAccountsConfig lets workloads use containers as their Kubernetes service accounts, without a credential in a
// Secret. Each access gets a managed identity that trusts the tokens of the cluster.
type ServiceAccountsConfig struct {
	// Issuer is the URL of the cluster's issuer of service account tokens, as its API server has it in
	// --service-account-issuer. Azure fetches the keys from there. Unset, the driver offers no
	// authentication type ServiceAccount.
	Issuer string `json:"issuer,omitempty"`
	// SubscriptionID, ResourceGroup and Location are where identities are made.
	SubscriptionID string `json:"subscriptionID,omitempty"`
	// ResourceGroup is described at subscriptionID.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// Location is described at subscriptionID.
	Location string `json:"location,omitempty"`
	// Audience is what tokens of the cluster must be for, in a sovereign cloud: api://AzureADTokenExchangeUSGov or
	// api://AzureADTokenExchangeChina. Default: api://AzureADTokenExchange.
	Audience string `json:"audience,omitempty"`
	// Roles are what identities get for access modes.
	Roles RolesConfig `json:"roles,omitzero"`
	// Credentials are the driver's own for Azure Resource Manager. It needs the roles Managed Identity
	// Contributor at the resource group, and Role Based Access Control Administrator, with the condition of
	// docs/howto/azure-role-condition.txt, at the storage accounts.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
}

// RolesConfig contains role definitions by UUID.
type RolesConfig struct {
	// ReadOnly is the role for object data ReadOnly. Default: that of Storage Blob Data Reader.
	ReadOnly string `json:"readOnly,omitempty"`
	// ReadWrite is the role for object data ReadWrite. Default: that of Storage Blob Data Contributor, which also
	// allows changing the container's metadata and deleting the container; a custom role can leave that out.
	ReadWrite string `json:"readWrite,omitempty"`
	// WriteOnly is the role for object data WriteOnly. Default: none, since Azure has no built-in one.
	WriteOnly string `json:"writeOnly,omitempty"`
}

// DefaultManagement is the URL of Azure Resource Manager in Azure's public cloud.
const DefaultManagement = "https://management.azure.com"

// ManagementConfig locates Azure Resource Manager.
type ManagementConfig struct {
	// Endpoint is the URL of Azure Resource Manager in a sovereign cloud. Default:
	// https://management.azure.com.
	Endpoint string `json:"endpoint,omitempty"`
	// Audience is what tokens for the endpoint are for. Default: https://management.azure.com.
	Audience string `json:"audience,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed the endpoint's. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
	// ReadLag is how long what was written may be missing from reads, at most 10s: what is missing is read again within
	// that time before it counts as missing. Default: 1.5s at Azure, whose endpoints begin with
	// https://management., and none at another, since emulators read what they wrote.
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

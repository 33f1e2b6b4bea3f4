// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/identity"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// ServiceAccountsConfig lets workloads use containers as their Kubernetes service accounts, without a
// credential in a Secret: each access gets a managed identity that trusts the tokens of the cluster.
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
	// Contributor at the resource group, and Role Based Access Control Administrator at the storage accounts.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
}

// RolesConfig are role definitions, each by its UUID.
type RolesConfig struct {
	// ReadOnly is the role for object data ReadOnly. Default: that of Storage Blob Data Reader.
	ReadOnly string `json:"readOnly,omitempty"`
	// ReadWrite is the role for object data ReadWrite. Default: that of Storage Blob Data Contributor, which also
	// allows to change the container's metadata and to delete the container; a custom role can leave that out.
	ReadWrite string `json:"readWrite,omitempty"`
	// WriteOnly is the role for object data WriteOnly. Default: none, since Azure has no built-in one.
	WriteOnly string `json:"writeOnly,omitempty"`
}

// byMode answers the role for a mode, "" if there is none.
func (r RolesConfig) byMode(mode driverkit.Mode) string {
	return map[driverkit.Mode]string{driverkit.ReadOnly: r.ReadOnly, driverkit.ReadWrite: r.ReadWrite, driverkit.WriteOnly: r.WriteOnly}[mode]
}

// all are the roles that are set.
func (r RolesConfig) all() []string {
	return slices.DeleteFunc([]string{r.ReadOnly, r.ReadWrite, r.WriteOnly}, func(id string) bool { return id == "" })
}

func (s ServiceAccountsConfig) enabled() bool { return s.Issuer != "" }

func (s ServiceAccountsConfig) withDefaults() ServiceAccountsConfig {
	if !s.enabled() {
		return s
	}
	if s.Audience == "" {
		s.Audience = identity.Audience
	}
	if s.Roles.ReadOnly == "" {
		s.Roles.ReadOnly = identity.RoleReader
	}
	if s.Roles.ReadWrite == "" {
		s.Roles.ReadWrite = identity.RoleContributor
	}
	return s
}

var (
	uuidPattern  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	groupPattern = regexp.MustCompile(`^[-\w.()]{1,90}$`)
	// accountIDPattern is the resource ID of a storage account.
	accountIDPattern = regexp.MustCompile(`^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-\w.()]{1,90}/providers/Microsoft\.Storage/storageAccounts/[a-z0-9]{3,24}$`)
)

// validate says everything that is wrong. Accounts are those of the configuration.
func (s ServiceAccountsConfig) validate(accounts map[string]AccountConfig) []error {
	if !s.enabled() {
		if s != (ServiceAccountsConfig{}) {
			return []error{errors.New("serviceAccounts.issuer: is needed with any other field of serviceAccounts")}
		}
		return nil
	}
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("serviceAccounts."+field+": "+format, args...))
	}
	if !strings.HasPrefix(s.Issuer, "https://") {
		bad("issuer", "%q is not an https URL, which Azure asks for", s.Issuer)
	}
	if !uuidPattern.MatchString(s.SubscriptionID) {
		bad("subscriptionID", "%q is not a UUID in lower case", s.SubscriptionID)
	}
	if !groupPattern.MatchString(s.ResourceGroup) {
		bad("resourceGroup", "%q is not the name of a resource group", s.ResourceGroup)
	}
	if s.Location == "" {
		bad("location", "is needed, such as westeurope")
	}
	for _, role := range s.Roles.all() {
		if !uuidPattern.MatchString(role) {
			bad("roles", "%q is not the UUID of a role definition in lower case", role)
		}
	}
	if s.Credentials != s.Credentials.application() {
		bad("credentials", "an account key is not for Azure Resource Manager")
	} else if err := s.Credentials.check(SigningUserDelegation); err != nil {
		bad("credentials", "%v", err)
	}
	if !slices.ContainsFunc(resourceIDs(accounts), func(id string) bool { return id != "" }) {
		bad("issuer", "no account has a resourceID, without which identities cannot get a role there")
	}
	return problems
}

// resourceIDs are those of all accounts that have one, in order.
func resourceIDs(accounts map[string]AccountConfig) []string {
	var ids []string
	for _, one := range accounts {
		if one.ResourceID != "" {
			ids = append(ids, one.ResourceID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// newIdentities makes what gives service accounts access; nil if the configuration does not have it.
func newIdentities(config Config, wrap wrapTransport) (*identity.Manager, error) {
	s := config.ServiceAccounts
	if !s.enabled() {
		return nil, nil //nolint:nilnil // absent is a configuration, not an error
	}
	credential, management, err := config.Management.login(s.Credentials, wrap)
	if err != nil {
		return nil, err
	}
	made := &identity.Manager{
		Group: s.ResourceGroup, Location: s.Location, Issuer: s.Issuer, Audience: s.Audience,
		Driver: config.DriverName, Cluster: config.Cluster, Scopes: resourceIDs(config.Accounts),
	}
	if made.Identities, err = armmsi.NewUserAssignedIdentitiesClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("make the client for identities: %w", err)
	}
	if made.Federated, err = armmsi.NewFederatedIdentityCredentialsClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("make the client for federated credentials: %w", err)
	}
	if made.Assignments, err = armauthorization.NewRoleAssignmentsClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("make the client for role assignments: %w", err)
	}
	return made, nil
}

// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/signature"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// complete fills in defaults and then returns all errors, each with its field.
func (c Config) complete() (Config, error) {
	settings.Default(&c.DriverName, DefaultName)
	settings.Default(&c.RecordsContainer, defaultRecords)
	c.DefaultBackend = c.named().DefaultName()
	var problems []error
	c.Backends, problems = settings.Complete("accounts", c.Backends, BackendConfig.withDefaults, BackendConfig.validate)
	c.ServiceAccounts = c.ServiceAccounts.withDefaults()
	if c.managed() {
		c.Management = c.Management.withDefaults()
	}
	problems = append(problems, c.validate()...)
	if err := errors.Join(problems...); err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c Config) validate() []error {
	var problems []error
	if err := cosi.ValidateDriverName(c.DriverName); err != nil {
		problems = append(problems, fmt.Errorf("driverName: %w", err))
	}
	if !printable.MatchString(c.Cluster) {
		problems = append(problems, fmt.Errorf("cluster: %q must be printable ASCII, since it is sent in a header", c.Cluster))
	}
	if !names.Buckets().Made(c.RecordsContainer) {
		problems = append(problems, fmt.Errorf("recordsContainer: %q is not a valid name of a container: 3 to 63 lower-case letters, digits and single '-'", c.RecordsContainer))
	}
	problems = append(problems, c.named().Check()...)
	problems = append(problems, c.Management.validate(c.managed())...)
	return append(problems, c.ServiceAccounts.validate(c.Backends)...)
}

// managed reports whether the driver calls Azure Resource Manager.
func (c Config) managed() bool {
	for _, backend := range c.Backends {
		if backend.Credentials.AccountKeyName != "" || backend.identified() && backend.ResourceID != "" {
			return true
		}
	}
	return c.ServiceAccounts.enabled()
}

// identified reports whether the driver has a Microsoft Entra identity for the account.
func (b BackendConfig) identified() bool {
	return b.Signing == SigningUserDelegation || b.Credentials.AccountKeyName != ""
}

// named returns the configured storage accounts.
func (c Config) named() driverkit.Backends[BackendConfig] {
	return driverkit.Backends[BackendConfig]{Default: c.DefaultBackend, ByName: c.Backends, Word: backendWord, CheckName: names.CheckStorageAccount}
}

func (b BackendConfig) withDefaults() BackendConfig {
	settings.Default(&b.Signing, SigningAccountKey)
	switch {
	case b.Addressing != "":
	case b.Endpoint == "":
		b.Addressing = AddressingHost
	default:
		b.Addressing = AddressingPath
	}
	if b.EndpointSuffix == "" && b.Endpoint == "" {
		b.EndpointSuffix = DefaultSuffix
	}
	return b
}

var (
	domainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	printable     = regexp.MustCompile(`^[[:print:]]*$`)
)

func (b BackendConfig) validate(bad settings.Bad) {
	b.validateAddress(bad)
	b.reach().Check(bad, "https://blob.example.com")
	if err := b.Credentials.check(b.Signing); err != nil {
		bad("credentials", "%v", err)
	}
	if b.ResourceID != "" && !accountIDPattern.MatchString(b.ResourceID) {
		bad("resourceID", "%q is not the ID of a storage account, such as /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>", b.ResourceID)
	}
	if b.Credentials.AccountKeyName != "" && b.ResourceID == "" {
		bad("resourceID", "is required with accountKeyName")
	}
	if b.Signing == SigningUserDelegation && strings.HasPrefix(b.Endpoint, "http://") {
		bad("endpoint", "%s does not use TLS, which Azure requires for tokens of Microsoft Entra", b.Endpoint)
	}
}

// reach returns how the backends are reached, by name.
func (c Config) reach() map[string]settings.Reach {
	all := map[string]settings.Reach{}
	for name, backend := range c.Backends {
		all[name] = backend.reach()
	}
	return all
}

func (b BackendConfig) reach() settings.Reach {
	return settings.Reach{CAFile: b.CAFile, Insecure: b.Insecure, Endpoints: map[string]string{"endpoint": b.Endpoint, "publicEndpoint": b.PublicEndpoint}}
}

func (b BackendConfig) validateAddress(bad settings.Bad) {
	if b.Addressing != AddressingPath && b.Addressing != AddressingHost {
		bad("addressing", "%q is not one of: path, host", b.Addressing)
	}
	if b.Endpoint == "" && b.Addressing == AddressingPath {
		bad("addressing", "path requires an endpoint")
	}
	if b.Endpoint != "" && b.EndpointSuffix != "" {
		bad("endpointSuffix", "is only for accounts without an endpoint")
	}
	if b.EndpointSuffix != "" && !domainPattern.MatchString(b.EndpointSuffix) {
		bad("endpointSuffix", "%q is not a domain such as %s", b.EndpointSuffix, DefaultSuffix)
	}
}

func (c CredentialsConfig) check(signing Signing) error {
	switch {
	case signing != SigningAccountKey && signing != SigningUserDelegation:
		return fmt.Errorf("signing %q is not one of: accountKey, userDelegation", signing)
	case signing == SigningUserDelegation && c != c.application():
		return errors.New("signing userDelegation does not use an account key: remove the key")
	case signing == SigningUserDelegation:
		return c.checkApplication()
	case c.AccountKeyName != "":
		return c.checkKeyName()
	}
	key, file := !c.AccountKey.IsZero(), c.AccountKeyFile != ""
	switch {
	case c.application() != (CredentialsConfig{}):
		return errors.New("tenantID, clientID, clientSecretFile and authority are only for signing userDelegation and for accountKeyName")
	case file && key:
		return errors.New("set the account key either with a file or directly")
	case !file && !key:
		return errors.New("the account key is required: set accountKeyFile, or accountKeyName to read the key from Azure Resource Manager")
	case !key:
		return nil
	}
	return signature.CheckKey(c.AccountKey.Reveal())
}

// checkKeyName checks the settings for a key that is read from Azure Resource Manager.
func (c CredentialsConfig) checkKeyName() error {
	switch {
	case !c.AccountKey.IsZero() || c.AccountKeyFile != "":
		return errors.New("set either the account key or accountKeyName")
	case c.AccountKeyName != "key1" && c.AccountKeyName != "key2":
		return fmt.Errorf("accountKeyName %q is not one of: key1, key2", c.AccountKeyName)
	}
	return c.checkApplication()
}

// application returns the fields that do not concern account keys.
func (c CredentialsConfig) application() CredentialsConfig {
	c.AccountKey, c.AccountKeyFile, c.AccountKeyName = cosi.Secret{}, "", ""
	return c
}

func (c CredentialsConfig) checkApplication() error {
	given := c.TenantID != "" || c.ClientID != "" || c.ClientSecretFile != ""
	if given && (c.TenantID == "" || c.ClientID == "" || c.ClientSecretFile == "") {
		return errors.New("tenantID, clientID and clientSecretFile require each other")
	}
	if c.Authority != "" && !strings.HasPrefix(c.Authority, "https://") {
		return fmt.Errorf("authority %q is not an https URL", c.Authority)
	}
	return nil
}

func (s ServiceAccountsConfig) withDefaults() ServiceAccountsConfig {
	if !s.enabled() {
		return s
	}
	settings.Default(&s.Audience, identity.Audience)
	settings.Default(&s.Roles.ReadOnly, identity.RoleReader)
	settings.Default(&s.Roles.ReadWrite, identity.RoleContributor)
	return s
}

var (
	uuidPattern  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	groupPattern = regexp.MustCompile(`^[-\w.()]{1,90}$`)
	// accountIDPattern matches the resource ID of a storage account.
	accountIDPattern = regexp.MustCompile(`^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-\w.()]{1,90}/providers/Microsoft\.Storage/storageAccounts/[a-z0-9]{3,24}$`)
)

// validate returns all errors. accounts are the configured storage accounts.
func (s ServiceAccountsConfig) validate(accounts map[string]BackendConfig) []error {
	if !s.enabled() {
		if s != (ServiceAccountsConfig{}) {
			return []error{errors.New("serviceAccounts.issuer: is required with any other field of serviceAccounts")}
		}
		return nil
	}
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("serviceAccounts."+field+": "+format, args...))
	}
	if !strings.HasPrefix(s.Issuer, "https://") {
		bad("issuer", "%q is not an https URL, which Azure requires", s.Issuer)
	}
	if !uuidPattern.MatchString(s.SubscriptionID) {
		bad("subscriptionID", "%q is not a UUID in lower case", s.SubscriptionID)
	}
	if !groupPattern.MatchString(s.ResourceGroup) {
		bad("resourceGroup", "%q is not the name of a resource group", s.ResourceGroup)
	}
	if s.Location == "" {
		bad("location", "is required, such as westeurope")
	}
	for _, role := range slices.Sorted(maps.Values(s.Roles.table())) {
		if !uuidPattern.MatchString(role) {
			bad("roles", "%q is not the UUID of a role definition in lower case", role)
		}
	}
	if s.Credentials != s.Credentials.application() {
		bad("credentials", "Azure Resource Manager does not accept an account key: remove the key")
	} else if err := s.Credentials.check(SigningUserDelegation); err != nil {
		bad("credentials", "%v", err)
	}
	if !slices.ContainsFunc(resourceIDs(accounts), func(id string) bool { return id != "" }) {
		bad("issuer", "no account has a resourceID, which is required for role assignments")
	}
	return problems
}

// resourceIDs returns the sorted resource IDs of the accounts that have one.
func resourceIDs(accounts map[string]BackendConfig) []string {
	var ids []string
	for _, one := range accounts {
		if one.ResourceID != "" {
			ids = append(ids, one.ResourceID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (m ManagementConfig) withDefaults() ManagementConfig {
	settings.Default(&m.Endpoint, DefaultManagement)
	settings.Default(&m.Audience, DefaultManagement)
	if strings.HasPrefix(m.Endpoint, "https://management.") {
		settings.Default(&m.ReadLag, settings.CloudReadLag)
	}
	return m
}

// validate returns all errors. used reports whether the driver calls Azure Resource Manager at all.
func (m ManagementConfig) validate(used bool) []error {
	if !used {
		if m != (ManagementConfig{}) {
			return []error{fmt.Errorf("management: is only for serviceAccounts, accountKeyName, and the resourceID of an account with signing userDelegation: set one of them, or remove management")}
		}
		return nil
	}
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("management."+field+": "+format, args...))
	}
	m.ReadLag.Check(bad)
	if !strings.HasPrefix(m.Endpoint, "https://") {
		bad("endpoint", "%q is not an https URL", m.Endpoint)
	} else if err := driverkit.CheckEndpoint(m.Endpoint, DefaultManagement); err != nil {
		bad("endpoint", "%w", err)
	}
	if _, err := driverkit.CertificateAuthorities(m.CAFile); err != nil {
		bad("caFile", "%w", err)
	}
	return problems
}

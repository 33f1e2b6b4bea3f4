// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// complete fills in defaults and then says everything that is wrong, each with its field.
func (c Config) complete() (Config, error) {
	if c.DriverName == "" {
		c.DriverName = DefaultName
	}
	if c.RecordsContainer == "" {
		c.RecordsContainer = defaultRecords
	}
	if c.DefaultAccount == "" && len(c.Accounts) == 1 {
		c.DefaultAccount = c.accountNames()[0]
	}
	accounts := make(map[string]AccountConfig, len(c.Accounts))
	var problems []error
	for _, name := range c.accountNames() {
		account := c.Accounts[name].withDefaults()
		accounts[name] = account
		if !names.IsStorageAccount(name) {
			problems = append(problems, fmt.Errorf("accounts: the name %q must be 3 to 24 lower-case letters and digits, as Azure has it", name))
		}
		problems = append(problems, account.validate("accounts."+name)...)
	}
	c.Accounts = accounts
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
		problems = append(problems, fmt.Errorf("recordsContainer: %q is not a name for a container: 3 to 63 lower-case letters, digits and single '-'", c.RecordsContainer))
	}
	switch _, known := c.Accounts[c.DefaultAccount]; {
	case len(c.Accounts) == 0:
		problems = append(problems, errors.New("accounts: at least one is needed"))
	case c.DefaultAccount == "":
		problems = append(problems, fmt.Errorf("defaultAccount: is needed with several accounts (%s)", strings.Join(c.accountNames(), ", ")))
	case !known:
		problems = append(problems, fmt.Errorf("defaultAccount: %q is not one of the accounts (%s)", c.DefaultAccount, strings.Join(c.accountNames(), ", ")))
	}
	problems = append(problems, c.Management.validate(c.managed())...)
	return append(problems, c.ServiceAccounts.validate(c.Accounts)...)
}

// managed reports whether the driver calls Azure Resource Manager.
func (c Config) managed() bool {
	for _, account := range c.Accounts {
		if account.Credentials.AccountKeyName != "" {
			return true
		}
	}
	return c.ServiceAccounts.enabled()
}

func (c Config) accountNames() []string { return slices.Sorted(maps.Keys(c.Accounts)) }

func (a AccountConfig) withDefaults() AccountConfig {
	if a.Signing == "" {
		a.Signing = SigningAccountKey
	}
	switch {
	case a.Addressing != "":
	case a.Endpoint == "":
		a.Addressing = AddressingHost
	default:
		a.Addressing = AddressingPath
	}
	if a.EndpointSuffix == "" && a.Endpoint == "" {
		a.EndpointSuffix = DefaultSuffix
	}
	return a
}

var (
	domainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	printable     = regexp.MustCompile(`^[[:print:]]*$`)
)

func (a AccountConfig) validate(field string) []error {
	var problems []error
	bad := func(name, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s.%s: %w", field, name, fmt.Errorf(format, args...)))
	}
	a.validateAddress(bad)
	if err := driverkit.CheckEndpoint(a.Endpoint, "https://blob.example.com"); err != nil {
		bad("endpoint", "%v", err)
	}
	if err := driverkit.CheckEndpoint(a.PublicEndpoint, "https://blob.example.com"); err != nil {
		bad("publicEndpoint", "%v", err)
	}
	if a.CAFile != "" && strings.HasPrefix(a.Endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s has no TLS", a.Endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(a.CAFile); err != nil {
		bad("caFile", "%v", err)
	}
	if err := a.Credentials.check(a.Signing); err != nil {
		bad("credentials", "%v", err)
	}
	if a.ResourceID != "" && !accountIDPattern.MatchString(a.ResourceID) {
		bad("resourceID", "%q is not the ID of a storage account, such as /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>", a.ResourceID)
	}
	if a.Credentials.AccountKeyName != "" && a.ResourceID == "" {
		bad("resourceID", "is needed with accountKeyName")
	}
	if a.Signing == SigningUserDelegation && strings.HasPrefix(a.Endpoint, "http://") {
		bad("endpoint", "%s has no TLS, without which Azure takes no tokens of Microsoft Entra", a.Endpoint)
	}
	return problems
}

func (a AccountConfig) validateAddress(bad func(name, format string, args ...any)) {
	if a.Addressing != AddressingPath && a.Addressing != AddressingHost {
		bad("addressing", "%q is not one of: path, host", a.Addressing)
	}
	if a.Endpoint == "" && a.Addressing == AddressingPath {
		bad("addressing", "path needs an endpoint")
	}
	if a.Endpoint != "" && a.EndpointSuffix != "" {
		bad("endpointSuffix", "is for accounts without an endpoint")
	}
	if a.EndpointSuffix != "" && !domainPattern.MatchString(a.EndpointSuffix) {
		bad("endpointSuffix", "%q is not a domain such as %s", a.EndpointSuffix, DefaultSuffix)
	}
}

func (c CredentialsConfig) check(signing Signing) error {
	switch {
	case signing != SigningAccountKey && signing != SigningUserDelegation:
		return fmt.Errorf("signing %q is not one of: accountKey, userDelegation", signing)
	case signing == SigningUserDelegation && c != c.application():
		return errors.New("an account key is not for signing userDelegation")
	case signing == SigningUserDelegation:
		return c.checkApplication()
	case c.AccountKeyName != "":
		return c.checkKeyName()
	}
	key, file := !c.AccountKey.IsZero(), c.AccountKeyFile != ""
	switch {
	case c.application() != (CredentialsConfig{}):
		return errors.New("tenantID, clientID, clientSecretFile and authority are for signing userDelegation and for accountKeyName")
	case file && key:
		return errors.New("give the account key either by file or by value")
	case !file && !key:
		return errors.New("the account key is needed: accountKeyFile, or accountKeyName to ask Azure Resource Manager for it")
	case !key:
		return nil
	}
	return checkKey(c.AccountKey.Reveal())
}

// checkKeyName is for a key that Azure Resource Manager is asked for.
func (c CredentialsConfig) checkKeyName() error {
	switch {
	case !c.AccountKey.IsZero() || c.AccountKeyFile != "":
		return errors.New("give the account key either itself or by accountKeyName")
	case c.AccountKeyName != "key1" && c.AccountKeyName != "key2":
		return fmt.Errorf("accountKeyName %q is not one of: key1, key2", c.AccountKeyName)
	}
	return c.checkApplication()
}

// application are the fields that are not of account keys.
func (c CredentialsConfig) application() CredentialsConfig {
	c.AccountKey, c.AccountKeyFile, c.AccountKeyName = cosi.Secret{}, "", ""
	return c
}

func (c CredentialsConfig) checkApplication() error {
	given := c.TenantID != "" || c.ClientID != "" || c.ClientSecretFile != ""
	if given && (c.TenantID == "" || c.ClientID == "" || c.ClientSecretFile == "") {
		return errors.New("tenantID, clientID and clientSecretFile need each other")
	}
	if c.Authority != "" && !strings.HasPrefix(c.Authority, "https://") {
		return fmt.Errorf("authority %q is not an https URL", c.Authority)
	}
	return nil
}

// checkKey does not show the key, nor the part of it that is wrong.
func checkKey(key string) error {
	if decoded, err := base64.StdEncoding.DecodeString(key); err != nil || len(decoded) == 0 {
		return errors.New("the account key is not base64")
	}
	return nil
}

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

func (m ManagementConfig) withDefaults() ManagementConfig {
	if m.Endpoint == "" {
		m.Endpoint = DefaultManagement
	}
	if m.Audience == "" {
		m.Audience = DefaultManagement
	}
	return m
}

// validate says everything that is wrong. Used is whether the driver calls it at all.
func (m ManagementConfig) validate(used bool) []error {
	if !used {
		if m != (ManagementConfig{}) {
			return []error{fmt.Errorf("management: is for serviceAccounts and accountKeyName, of which there is none")}
		}
		return nil
	}
	var problems []error
	if !strings.HasPrefix(m.Endpoint, "https://") {
		problems = append(problems, fmt.Errorf("management.endpoint: %q is not an https URL", m.Endpoint))
	} else if err := driverkit.CheckEndpoint(m.Endpoint, DefaultManagement); err != nil {
		problems = append(problems, fmt.Errorf("management.endpoint: %w", err))
	}
	if _, err := driverkit.CertificateAuthorities(m.CAFile); err != nil {
		problems = append(problems, fmt.Errorf("management.caFile: %w", err))
	}
	return problems
}

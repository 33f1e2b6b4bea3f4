// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/settings"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DefaultName is the driver's name unless the configuration gives another.
const DefaultName = "azure.cooper.dev"

// DefaultSuffix is the domain of the Blob service in Azure's public cloud.
const DefaultSuffix = "blob.core.windows.net"

// defaultRecords is the container for records unless the configuration gives another.
const defaultRecords = "cosi-accesses"

// Config is the configuration of the driver, as its YAML file has it.
type Config struct {
	// DriverName is the name that classes use. Default: azure.cooper.dev.
	DriverName string `json:"driverName,omitempty"`
	// DefaultAccount is the storage account of classes that name none, and of IDs without an account's
	// name. Needed with more than one account.
	DefaultAccount string `json:"defaultAccount,omitempty"`
	// Cluster, if set, is marked on every container that the driver makes, so that the clone of a
	// cluster, in which all objects have the same UIDs, does not take it for its own.
	Cluster string `json:"cluster,omitempty"`
	// RecordsContainer is the container of each storage account in which the driver records for which
	// bucket an access is; it is made when needed. Default: cosi-accesses.
	RecordsContainer string `json:"recordsContainer,omitempty"`
	// ServiceAccounts, if set, offers authentication type ServiceAccount.
	ServiceAccounts ServiceAccountsConfig `json:"serviceAccounts,omitzero"`
	// Management is where Azure Resource Manager is, which serviceAccounts and accountKeyName need.
	Management ManagementConfig `json:"management,omitzero"`
	// Accounts are the storage accounts, by name. Names are part of the IDs of what was made there.
	Accounts map[string]AccountConfig `json:"accounts"`
}

// Addressing says whether a URL of the Blob service names the storage account in its path.
type Addressing string

// The addressing styles.
const (
	// AddressingPath puts the account in the path: http://127.0.0.1:10000/account/container.
	AddressingPath Addressing = "path"
	// AddressingHost has the account, if at all, in the host: https://account.example.com/container.
	AddressingHost Addressing = "host"
)

// AccountConfig is one storage account.
type AccountConfig struct {
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
	// ResourceID is the storage account's ID at Azure Resource Manager:
	// /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>. It is
	// needed for authentication type ServiceAccount and for accountKeyName.
	ResourceID string `json:"resourceID,omitempty"`
	// Signing is accountKey, which signs with a key of the storage account, or userDelegation, for accounts
	// that do not accept their keys: then the driver is an application or identity of Microsoft Entra, the
	// signatures end after at most 7 days and are renewed, and a single one cannot be revoked before its
	// end. Default: accountKey.
	Signing Signing `json:"signing,omitempty"`
	// Credentials are the driver's own.
	Credentials CredentialsConfig `json:"credentials,omitzero"`
}

// Signing is what signs the credentials of workloads.
type Signing string

// The ways of signing.
const (
	SigningAccountKey     Signing = "accountKey"
	SigningUserDelegation Signing = "userDelegation"
)

// CredentialsConfig says where the driver's own credential for a storage account is.
type CredentialsConfig struct {
	// AccountKeyFile holds one of the two keys of the storage account, in base64. The file is read again
	// when it changes; after that, what the former key signed is granted anew.
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

// ParseConfig reads the YAML of a configuration file, fills in defaults and validates it. Unknown
// fields are errors.
func ParseConfig(data []byte) (Config, error) { return settings.Parse(data, Config.complete) }

// ReadConfig reads a configuration file.
func ReadConfig(file string) (Config, error) { return settings.Read(file, ParseConfig) }

// accountPattern is what Azure allows as the name of a storage account.
var accountPattern = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

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
		if !accountPattern.MatchString(name) {
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
	if !containerNames().Made(c.RecordsContainer) {
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

// managed says whether the driver calls Azure Resource Manager.
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

// key reads the account key as it is now.
func (c CredentialsConfig) key() (string, error) {
	if c.AccountKeyFile == "" {
		return c.AccountKey.Reveal(), nil
	}
	data, err := os.ReadFile(c.AccountKeyFile)
	if err != nil {
		return "", fmt.Errorf("read the driver's credentials: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if err := checkKey(key); err != nil {
		return "", fmt.Errorf("read the driver's credentials: %s: %w", c.AccountKeyFile, err)
	}
	return key, nil
}

// url answers the URL of the account, without a trailing slash.
func (a AccountConfig) url(account string) string { return a.join(a.Endpoint, account) }

// publicURL is the URL of the account for workloads.
func (a AccountConfig) publicURL(account string) string {
	if a.PublicEndpoint == "" {
		return a.url(account)
	}
	return a.join(a.PublicEndpoint, account)
}

func (a AccountConfig) join(endpoint, account string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	switch {
	case endpoint == "":
		return "https://" + account + "." + a.EndpointSuffix
	case a.Addressing == AddressingPath:
		return endpoint + "/" + account
	default:
		return endpoint
	}
}

// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/identity"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account/signature"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// The sidecar retries with backoff, so a single call is not retried for long.
	maxRetries    = 3
	firstRetry    = 100 * time.Millisecond
	longestRetry  = time.Second
	applicationID = "cosi-driver-azure"
)

type wrapTransport func(http.RoundTripper) http.RoundTripper

func clientOptions(authorities *driverkit.Authorities, wrap wrapTransport) azcore.ClientOptions {
	return azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: maxRetries, RetryDelay: firstRetry, MaxRetryDelay: longestRetry},
		Telemetry: policy.TelemetryOptions{ApplicationID: applicationID},
		Transport: &http.Client{Transport: wrap(newTransport(authorities)), CheckRedirect: noRedirect},
	}
}

// noRedirect prevents signed requests from being redirected.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func newTransport(authorities *driverkit.Authorities) http.RoundTripper {
	return authorities.Transport(http.DefaultTransport.(*http.Transport).Clone())
}

// newIdentity returns the driver's Microsoft Entra identity. It makes no calls.
func newIdentity(config CredentialsConfig, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	if config.Authority != "" {
		options.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: strings.TrimRight(config.Authority, "/") + "/", Services: cloud.AzurePublic.Services}
	}
	if config.ClientID == "" {
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: options, DisableInstanceDiscovery: config.Authority != "",
		})
	}
	return &application{config: config, options: azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: config.Authority != ""}}, nil
}

// application is a Microsoft Entra identity with a secret in a file, which may change and does not need to exist at
// startup. It implements azcore.TokenCredential.
type application struct {
	config  CredentialsConfig
	options azidentity.ClientSecretCredentialOptions

	mu     sync.Mutex
	secret string
	login  *azidentity.ClientSecretCredential
}

// GetToken implements azcore.TokenCredential.
func (a *application) GetToken(ctx context.Context, asked policy.TokenRequestOptions) (azcore.AccessToken, error) {
	login, err := a.current()
	if err != nil {
		return azcore.AccessToken{}, driverkit.Unauthenticated("the driver cannot read a valid client secret for its application; an administrator has to provide one (clientSecretFile)").WithDetail(err)
	}
	return login.GetToken(ctx, asked)
}

// current returns the credential with the current secret from the file.
func (a *application) current() (*azidentity.ClientSecretCredential, error) {
	data, err := os.ReadFile(a.config.ClientSecretFile)
	if err != nil {
		return nil, fmt.Errorf("read the driver's credentials: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login != nil && secret == a.secret {
		return a.login, nil
	}
	made, err := azidentity.NewClientSecretCredential(a.config.TenantID, a.config.ClientID, secret, &a.options)
	if err != nil {
		return nil, fmt.Errorf("create the credential of the driver's application: %w", err)
	}
	a.login, a.secret = made, secret
	return made, nil
}

// login returns the credential and client options for calls to Azure Resource Manager with the driver's own
// credentials. It makes no calls.
func (m ManagementConfig) login(credentials CredentialsConfig, wrap wrapTransport) (azcore.TokenCredential, *arm.ClientOptions, error) {
	authorities, err := driverkit.OpenAuthorities(m.CAFile)
	if err != nil {
		return nil, nil, err
	}
	options := clientOptions(authorities, wrap)
	login, err := newIdentity(credentials, options)
	if err != nil {
		return nil, nil, err
	}
	options.Cloud = cloud.Configuration{
		ActiveDirectoryAuthorityHost: cloud.AzurePublic.ActiveDirectoryAuthorityHost,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: strings.TrimRight(m.Endpoint, "/"), Audience: m.Audience}},
	}
	// The necessary resource providers are registered in every subscription that has a storage account.
	return login, &arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}, nil
}

// newIdentities returns the manager that gives service accounts access, or nil if that is not configured.
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
		Subscription: s.SubscriptionID, Group: s.ResourceGroup, Location: s.Location, Issuer: s.Issuer, Audience: s.Audience,
		Driver: config.DriverName, Cluster: config.Cluster, Roles: s.Roles.table(), Scopes: resourceIDs(config.Backends),
		ReadLag: config.Management.ReadLag.Duration(),
	}
	if made.Identities, err = armmsi.NewUserAssignedIdentitiesClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("create the client for identities: %w", err)
	}
	if made.Federated, err = armmsi.NewFederatedIdentityCredentialsClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("create the client for federated credentials: %w", err)
	}
	if made.Assignments, err = armauthorization.NewRoleAssignmentsClient(s.SubscriptionID, credential, management); err != nil {
		return nil, fmt.Errorf("create the client for role assignments: %w", err)
	}
	return made, nil
}

// use prepares the account for calls by refreshing its key.
func (b *backend) use(ctx context.Context) error {
	if b.key == nil {
		return nil
	}
	err := b.key.Refresh(ctx)
	switch {
	case err == nil:
		return nil
	case b.config.Credentials.AccountKeyName != "":
		return apierror.Translate("the keys of storage account "+b.name, err)
	}
	return driverkit.Unauthenticated("the driver cannot read a valid key of storage account %s; an administrator has to provide one", b.name).WithDetail(err)
}

// delegate configures an account that does not accept its keys.
func (b *backend) delegate(options azcore.ClientOptions) error {
	login, err := newIdentity(b.config.Credentials, options)
	if err != nil {
		return err
	}
	if b.buckets.API, err = service.NewClient(b.config.url(b.name), login, &service.ClientOptions{ClientOptions: options}); err != nil {
		return fmt.Errorf("create the client for blobs: %w", err)
	}
	b.signatures.Delegator, err = signature.NewDelegation(b.name, b.config.url(b.name), login, options)
	return err
}

// keyed configures an account that signs with its key.
func (b *backend) keyed(options azcore.ClientOptions, listed *signature.ListedKey) error {
	read := func(context.Context) (string, error) { return b.config.Credentials.key() }
	if listed != nil {
		read = listed.Read
	}
	var err error
	if b.key, err = signature.NewSharedKey(b.name, !strings.HasPrefix(b.config.publicURL(b.name), "http://"), read); err != nil {
		return err
	}
	b.signatures.Signer = b.key
	b.buckets.API, err = b.key.Client(b.config.url(b.name), options)
	return err
}

// newListedKey returns the key that is read from Azure Resource Manager, or nil if the configuration contains the
// key. It makes no calls.
func newListedKey(config Config, settings BackendConfig, now func() time.Time, wrap wrapTransport) (*signature.ListedKey, error) {
	if settings.Credentials.AccountKeyName == "" {
		return nil, nil //nolint:nilnil // absent is a configuration, not an error
	}
	login, management, err := config.Management.login(settings.Credentials, wrap)
	if err != nil {
		return nil, err
	}
	subscription, group, account := splitAccountID(settings.ResourceID)
	made := &signature.ListedKey{Group: group, Account: account, Name: settings.Credentials.AccountKeyName, Now: now}
	if made.API, err = armstorage.NewAccountsClient(subscription, login, management); err != nil {
		return nil, fmt.Errorf("create the client for account keys: %w", err)
	}
	return made, nil
}

// splitAccountID splits a validated ID:
// /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>.
func splitAccountID(id string) (subscription, group, account string) {
	parts := strings.Split(id, "/")
	return parts[2], parts[4], parts[8]
}

// newRetention returns a function that reports whether the storage account keeps deleted containers. It uses the
// account's identity, or otherwise that for service accounts. It returns nil if there is no identity or no account
// ID. It makes no calls.
func newRetention(config Config, settings BackendConfig, wrap wrapTransport) (func(context.Context) (bool, error), error) {
	credentials := settings.Credentials
	if !settings.identified() {
		credentials = config.ServiceAccounts.Credentials
	}
	if settings.ResourceID == "" || !settings.identified() && !config.ServiceAccounts.enabled() {
		return nil, nil //nolint:nilnil // absent is a configuration, not an error
	}
	login, management, err := config.Management.login(credentials, wrap)
	if err != nil {
		return nil, err
	}
	subscription, group, account := splitAccountID(settings.ResourceID)
	client, err := armstorage.NewBlobServicesClient(subscription, login, management)
	if err != nil {
		return nil, fmt.Errorf("create the client for the Blob service's properties: %w", err)
	}
	return func(ctx context.Context) (bool, error) {
		found, err := client.GetServiceProperties(ctx, group, account, nil)
		if err != nil || found.BlobServiceProperties.BlobServiceProperties == nil {
			return false, err
		}
		retention := found.BlobServiceProperties.BlobServiceProperties.ContainerDeleteRetentionPolicy
		return retention != nil && retention.Enabled != nil && *retention.Enabled, nil
	}, nil
}

// key returns the current account key.
func (c CredentialsConfig) key() (string, error) {
	if c.AccountKeyFile == "" {
		return c.AccountKey.Reveal(), nil
	}
	data, err := os.ReadFile(c.AccountKeyFile)
	if err != nil {
		return "", fmt.Errorf("read the driver's credentials: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if err := signature.CheckKey(key); err != nil {
		return "", fmt.Errorf("read the driver's credentials: %s: %w", c.AccountKeyFile, err)
	}
	return key, nil
}

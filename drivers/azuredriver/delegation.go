// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/store"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// newIdentity answers who the driver is for Microsoft Entra. It makes no call.
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

// application is who the driver is by a secret in a file, which may change and need not be there at the start. It
// implements azcore.TokenCredential.
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
		return azcore.AccessToken{}, driverkit.Unauthenticated("the driver has no usable secret of its application; an administrator has to provide it").WithDetail(err)
	}
	return login.GetToken(ctx, asked)
}

// current is the login with the secret that the file holds now.
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
		return nil, fmt.Errorf("use the driver's credentials: %w", err)
	}
	a.login, a.secret = made, secret
	return made, nil
}

// delegation signs with user delegation keys. It implements store.Delegator.
type delegation struct {
	client *service.Client

	mu sync.Mutex
	// keys are kept by their times, so that repeated calls answer the same bytes whatever the
	// service makes of a repeated request for a key.
	keys map[store.Window]*service.UserDelegationCredential
}

// maxKeys bounds the keys that are kept; classes with different expiries have different ones.
const maxKeys = 64

// newDelegation makes a client of its own: the SDK takes the name of the storage account, which it
// signs, from the first label of the host, where a path-style endpoint does not have it.
func newDelegation(account, endpoint string, identity azcore.TokenCredential, options azcore.ClientOptions) (*delegation, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("the URL of the account: %w", err)
	}
	inner := options.Transport
	options.Transport = transporter(func(request *http.Request) (*http.Response, error) {
		request.URL.Scheme, request.URL.Host, request.Host = target.Scheme, target.Host, target.Host
		request.URL.Path = target.Path + request.URL.Path
		return inner.Do(request)
	})
	client, err := service.NewClient("https://"+account+".invalid/", identity, &service.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("make the client for user delegation keys: %w", err)
	}
	return &delegation{client: client, keys: map[store.Window]*service.UserDelegationCredential{}}, nil
}

type transporter func(*http.Request) (*http.Response, error)

// Do implements policy.Transporter.
func (t transporter) Do(request *http.Request) (*http.Response, error) { return t(request) }

// SignDelegated implements store.Delegator.
func (d *delegation) SignDelegated(ctx context.Context, container string, asked store.Delegated) (cosi.Secret, error) {
	key, err := d.key(ctx, asked.Window)
	if err != nil {
		return cosi.Secret{}, err
	}
	values := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, ContainerName: container, Permissions: asked.Permission,
		StartTime: asked.Start, ExpiryTime: asked.End, CorrelationID: asked.Correlation,
	}
	query, err := values.SignWithUserDelegation(key)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("sign for container %s: %w", container, err)
	}
	return cosi.NewSecret(query.Encode()), nil
}

func (d *delegation) key(ctx context.Context, window store.Window) (*service.UserDelegationCredential, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.keys[window]; known != nil {
		return known, nil
	}
	made, err := d.client.GetUserDelegationCredential(ctx, service.KeyInfo{
		Start: to.Ptr(window.Start.Format(time.RFC3339)), Expiry: to.Ptr(window.End.Format(time.RFC3339)),
	}, nil)
	if err != nil {
		return nil, err
	}
	if len(d.keys) >= maxKeys {
		clear(d.keys)
	}
	d.keys[window] = made
	return made, nil
}

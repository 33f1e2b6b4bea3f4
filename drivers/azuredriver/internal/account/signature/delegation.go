// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Delegator creates signatures for accounts that do not accept their keys.
type Delegator interface {
	// SignDelegated returns the query string of a self-contained signature.
	SignDelegated(ctx context.Context, container string, asked Delegated) (cosi.Secret, error)
}

// Delegated contains the values of a signature by a user delegation key.
type Delegated struct {
	Window

	Permission string
	// Correlation is a UUID that Azure writes to its logs.
	Correlation string
}

// Window is a time interval, in UTC and whole seconds.
type Window struct{ Start, End time.Time }

const (
	// MaxDelegated is the maximum lifetime of a user delegation key in Azure. MinDelegated is the shortest lifetime that
	// leaves enough time for clock skew and renewal.
	MaxDelegated = 7 * 24 * time.Hour
	MinDelegated = time.Hour
	// backdated is the maximum clock skew between driver and service.
	backdated = 15 * time.Minute
	// shares is the number of steps into which the lifetime is divided. Calls within one step return the same result;
	// each step moves the expiry.
	shares = 8
)

// namespace is the UUID namespace for correlation IDs.
var namespace = uuid.MustParse("6c6f6b2e-5f0c-4f2c-8a53-3f2d8d6f3c11")

// grantDelegated returns a signature without a stored access policy. The only stored state is the record of the
// account. The signature cannot be revoked individually, but it expires.
func (m *Manager) grantDelegated(ctx context.Context, name string, want policy.Request) (Signature, error) {
	life := want.Lifetime
	if life == 0 {
		life = MaxDelegated
	}
	if _, err := m.container(name).GetProperties(ctx, nil); err != nil {
		return Signature{}, err
	}
	if err := m.keepRecord(ctx, want.Account, name, want.Permission); err != nil {
		return Signature{}, err
	}
	start := m.Now().UTC().Add(-backdated).Truncate(life / shares).Truncate(time.Second)
	asked := Delegated{
		Window: Window{start, start.Add(life)}, Permission: want.Permission,
		Correlation: uuid.NewSHA1(namespace, []byte(m.Driver+"/"+m.Cluster+"/"+want.Account+"/"+want.Rotation)).String(),
	}
	query, err := m.Delegator.SignDelegated(ctx, name, asked)
	return Signature{Query: query, Expiry: asked.End}, err
}

// Delegation creates signatures with user delegation keys. It implements Delegator.
type Delegation struct {
	client *service.Client

	mu sync.Mutex
	// keys caches keys by their window, so that repeated calls return the same bytes even if the service returns a
	// different key for a repeated request.
	keys map[Window]*service.UserDelegationCredential
}

// maxKeys is the maximum number of cached keys. Classes with different expiries have different keys.
const maxKeys = 64

// NewDelegation creates its own client: the SDK signs the name of the storage account and takes it from the first
// label of the host, which is wrong for a path-style endpoint.
func NewDelegation(account, endpoint string, identity azcore.TokenCredential, options azcore.ClientOptions) (*Delegation, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parse the URL of the storage account: %w", err)
	}
	inner := options.Transport
	options.Transport = transporter(func(request *http.Request) (*http.Response, error) {
		request.URL.Scheme, request.URL.Host, request.Host = target.Scheme, target.Host, target.Host
		request.URL.Path = target.Path + request.URL.Path
		return inner.Do(request)
	})
	client, err := service.NewClient("https://"+account+".invalid/", identity, &service.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("create the client for user delegation keys: %w", err)
	}
	return &Delegation{client: client, keys: map[Window]*service.UserDelegationCredential{}}, nil
}

type transporter func(*http.Request) (*http.Response, error)

// Do implements policy.Transporter.
func (t transporter) Do(request *http.Request) (*http.Response, error) { return t(request) }

// SignDelegated implements Delegator.
func (d *Delegation) SignDelegated(ctx context.Context, container string, asked Delegated) (cosi.Secret, error) {
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
		return cosi.Secret{}, fmt.Errorf("create a SAS token for container %s: %w", container, err)
	}
	return cosi.NewSecret(query.Encode()), nil
}

func (d *Delegation) key(ctx context.Context, window Window) (*service.UserDelegationCredential, error) {
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

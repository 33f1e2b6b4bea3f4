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

// Delegator signs for accounts that do not accept their keys.
type Delegator interface {
	// SignDelegated returns the query of a signature that holds everything itself.
	SignDelegated(ctx context.Context, container string, asked Delegated) (cosi.Secret, error)
}

// Delegated is what a signature by a user delegation key says.
type Delegated struct {
	Window

	Permission string
	// Correlation is a UUID that Azure writes to its logs.
	Correlation string
}

// Window is a time, in UTC and whole seconds.
type Window struct{ Start, End time.Time }

const (
	// MaxDelegated is how long Azure lets a user delegation key live, and MinDelegated the shortest life
	// that leaves room for clocks and renewals.
	MaxDelegated = 7 * 24 * time.Hour
	MinDelegated = time.Hour
	// backdated is how far the clocks of driver and service may differ.
	backdated = 15 * time.Minute
	// shares of the life pass until a repeated call gets a later end: the responses in between are the same.
	shares = 8
)

// namespace makes correlation IDs from names.
var namespace = uuid.MustParse("6c6f6b2e-5f0c-4f2c-8a53-3f2d8d6f3c11")

// grantDelegated returns a signature that nothing at the service stands for: only the record of the
// account is made. It cannot be revoked singly and ends by itself.
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

// Delegation signs with user delegation keys. It implements Delegator.
type Delegation struct {
	client *service.Client

	mu sync.Mutex
	// keys are kept by their times, so that repeated calls return the same bytes whatever the
	// service makes of a repeated request for a key.
	keys map[Window]*service.UserDelegationCredential
}

// maxKeys bounds the keys that are kept; classes with different expiries have different ones.
const maxKeys = 64

// NewDelegation makes a client of its own: the SDK takes the name of the storage account, which it
// signs, from the first label of the host, where a path-style endpoint does not have it.
func NewDelegation(account, endpoint string, identity azcore.TokenCredential, options azcore.ClientOptions) (*Delegation, error) {
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
		return cosi.Secret{}, fmt.Errorf("sign for container %s: %w", container, err)
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

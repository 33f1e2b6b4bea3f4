// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// sharedKey authenticates the driver by an account key, and signs with it. It implements signature.Signer.
type sharedKey struct {
	// read returns the key as it is now.
	read       func(context.Context) (string, error)
	credential *service.SharedKeyCredential
	protocol   sas.Protocol

	mu  sync.Mutex
	key string
}

// newSharedKey makes no call and does not need the key yet: one that cannot be read does not keep the
// driver from starting.
func newSharedKey(name string, config AccountConfig, listed *listedKey) (*sharedKey, error) {
	credential, err := service.NewSharedKeyCredential(name, "")
	if err != nil {
		return nil, fmt.Errorf("prepare the account key: %w", err)
	}
	protocol := sas.ProtocolHTTPS
	if strings.HasPrefix(config.publicURL(name), "http://") {
		protocol = sas.ProtocolHTTPSandHTTP
	}
	made := &sharedKey{credential: credential, protocol: protocol}
	made.read = func(context.Context) (string, error) { return config.Credentials.key() }
	if listed != nil {
		made.read = listed.read
	}
	return made, nil
}

// refresh takes the key as it is now.
func (s *sharedKey) refresh(ctx context.Context) error {
	key, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == s.key {
		return nil
	}
	if err := s.credential.SetAccountKey(key); err != nil {
		return fmt.Errorf("use the account key: %w", err)
	}
	s.key = key
	return nil
}

// fingerprintTimeout bounds how long a response about the driver waits for the key.
const fingerprintTimeout = 5 * time.Second

// fingerprint changes with the key and does not show it. The former key counts until there is another.
func (s *sharedKey) fingerprint() string {
	ctx, cancel := context.WithTimeout(context.Background(), fingerprintTimeout)
	defer cancel()
	_ = s.refresh(ctx) // use says it to whom it concerns
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte("account key " + s.key))
	return hex.EncodeToString(sum[:16])
}

// SignPolicy implements signature.Signer.
func (s *sharedKey) SignPolicy(container, id string) (cosi.Secret, error) {
	// All else is in the policy, so that the signature stays the same when the policy is extended.
	values := sas.BlobSignatureValues{Protocol: s.protocol, ContainerName: container, Identifier: id}
	query, err := values.SignWithSharedKey(s.credential)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("sign for container %s: %w", container, err)
	}
	return cosi.NewSecret(query.Encode()), nil
}

// use makes the account ready for calls: its key is the one that the configuration has now.
func (b *backend) use(ctx context.Context) error {
	if b.key == nil {
		return nil
	}
	err := b.key.refresh(ctx)
	switch {
	case err == nil:
		return nil
	case b.config.Credentials.AccountKeyName != "":
		return apierror.Translate("the keys of storage account "+b.name, err)
	}
	return driverkit.Unauthenticated("the driver has no usable key of storage account %s; an administrator has to provide it", b.name).WithDetail(err)
}

// listedKey is an account key from Azure Resource Manager.
type listedKey struct {
	client               *armstorage.AccountsClient
	group, account, name string
	now                  func() time.Time

	mu    sync.Mutex
	key   string
	err   error
	until time.Time
}

const (
	// keyLife is how long a key is used before the driver asks whether it is still the one, and keyPause how long it
	// waits after an attempt that failed.
	keyLife  = time.Minute
	keyPause = 5 * time.Second
)

// newListedKey makes no call; nil if the configuration has the key itself.
func newListedKey(config Config, settings AccountConfig, now func() time.Time, wrap wrapTransport) (*listedKey, error) {
	if settings.Credentials.AccountKeyName == "" {
		return nil, nil //nolint:nilnil // absent is a configuration, not an error
	}
	login, management, err := config.Management.login(settings.Credentials, wrap)
	if err != nil {
		return nil, err
	}
	// The ID was validated: /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Storage/storageAccounts/<name>.
	parts := strings.Split(settings.ResourceID, "/")
	made := &listedKey{group: parts[4], account: parts[8], name: settings.Credentials.AccountKeyName, now: now}
	if made.client, err = armstorage.NewAccountsClient(parts[2], login, management); err != nil {
		return nil, fmt.Errorf("make the client for account keys: %w", err)
	}
	return made, nil
}

// read returns the last known key, or asks for it. A key that is known survives an outage of Azure Resource Manager.
func (l *listedKey) read(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if now.Before(l.until) {
		return l.key, l.err
	}
	key, err := l.ask(ctx)
	switch {
	case err == nil:
		l.key, l.err, l.until = key, nil, now.Add(keyLife)
	case l.key != "":
		l.until = now.Add(keyPause)
	default:
		l.err, l.until = err, now.Add(keyPause)
	}
	return l.key, l.err
}

func (l *listedKey) ask(ctx context.Context) (string, error) {
	answer, err := l.client.ListKeys(ctx, l.group, l.account, nil)
	if err != nil {
		return "", err
	}
	for _, one := range answer.Keys {
		if one != nil && one.KeyName != nil && one.Value != nil && *one.KeyName == l.name {
			return *one.Value, checkKey(*one.Value)
		}
	}
	return "", errors.New("storage account " + l.account + " has no " + l.name)
}

// doubt makes the next call ask again.
func (l *listedKey) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// watch doubts the key when the service does not take it.
func (l *listedKey) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(request)
		if err == nil && answer.Header.Get("X-Ms-Error-Code") == string(bloberror.AuthenticationFailed) {
			l.doubt()
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// keyed prepares an account that signs with its key.
func (b *backend) keyed(options azcore.ClientOptions, listed *listedKey) error {
	var err error
	if b.key, err = newSharedKey(b.name, b.config, listed); err != nil {
		return err
	}
	b.signatures.Signer = b.key
	b.buckets.API, err = service.NewClientWithSharedKeyCredential(b.config.url(b.name), b.key.credential, &service.ClientOptions{ClientOptions: options})
	if err != nil {
		return fmt.Errorf("make the client: %w", err)
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

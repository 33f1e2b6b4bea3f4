// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// SharedKey authenticates the driver with a key of the storage account, and signs with it. It implements Signer.
type SharedKey struct {
	// read returns the current key.
	read       func(context.Context) (string, error)
	credential *service.SharedKeyCredential
	protocol   sas.Protocol

	mu  sync.Mutex
	key string
}

// NewSharedKey returns a SharedKey for the key that read returns. It makes no calls and does not read the key yet, so
// an unreadable key does not prevent the driver from starting. The signatures require https if tls is true.
func NewSharedKey(account string, tls bool, read func(context.Context) (string, error)) (*SharedKey, error) {
	credential, err := service.NewSharedKeyCredential(account, "")
	if err != nil {
		return nil, fmt.Errorf("create a credential for the account key: %w", err)
	}
	protocol := sas.ProtocolHTTPSandHTTP
	if tls {
		protocol = sas.ProtocolHTTPS
	}
	return &SharedKey{credential: credential, protocol: protocol, read: read}, nil
}

// Client returns a client that authenticates with the key.
func (s *SharedKey) Client(endpoint string, options azcore.ClientOptions) (*service.Client, error) {
	client, err := service.NewClientWithSharedKeyCredential(endpoint, s.credential, &service.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("create the client for blobs: %w", err)
	}
	return client, nil
}

// Refresh reads the current key.
func (s *SharedKey) Refresh(ctx context.Context) error {
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
		return fmt.Errorf("cannot use the account key: %w", err)
	}
	s.key = key
	return nil
}

// fingerprintTimeout limits how long a response about the driver waits for the key.
const fingerprintTimeout = 5 * time.Second

// Fingerprint returns a value that changes with the key and does not reveal it. If no current key can be read, it
// uses the previous one.
func (s *SharedKey) Fingerprint() string {
	ctx, cancel := context.WithTimeout(context.Background(), fingerprintTimeout)
	defer cancel()
	_ = s.Refresh(ctx) // a call that needs the key reports it
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte("account key " + s.key))
	return hex.EncodeToString(sum[:16])
}

// SignPolicy implements Signer.
func (s *SharedKey) SignPolicy(container, id string) (cosi.Secret, error) {
	// Everything else is in the policy, so the signature does not change when the policy is extended.
	values := sas.BlobSignatureValues{Protocol: s.protocol, ContainerName: container, Identifier: id}
	query, err := values.SignWithSharedKey(s.credential)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("create a SAS token for container %s: %w", container, err)
	}
	return cosi.NewSecret(query.Encode()), nil
}

// ListedKey is an account key read from Azure Resource Manager. All fields are required.
type ListedKey struct {
	API *armstorage.AccountsClient
	// Group and Account locate the key; Name is key1 or key2.
	Group, Account, Name string
	// Now returns the current time.
	Now func() time.Time

	mu    sync.Mutex
	key   string
	err   error
	until time.Time
}

const (
	// keyLife is how long a key is used before the driver reads it again, and keyPause how long the driver waits after a
	// failed attempt.
	keyLife  = time.Minute
	keyPause = 5 * time.Second
)

// Read returns the cached key or reads it. A cached key remains usable during an outage of Azure Resource Manager.
func (l *ListedKey) Read(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
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

func (l *ListedKey) ask(ctx context.Context) (string, error) {
	listed, err := l.API.ListKeys(ctx, l.Group, l.Account, nil)
	if err != nil {
		return "", err
	}
	for _, one := range listed.Keys {
		if one != nil && one.KeyName != nil && one.Value != nil && *one.KeyName == l.Name {
			return *one.Value, CheckKey(*one.Value)
		}
	}
	return "", errors.New("storage account " + l.Account + " has no " + l.Name)
}

// doubt makes the next call read the key again.
func (l *ListedKey) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// Watch returns a transport that invalidates the cached key when the service rejects it.
func (l *ListedKey) Watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.Header.Get("X-Ms-Error-Code") == string(bloberror.AuthenticationFailed) {
			l.doubt()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// CheckKey returns an error if key is not a valid account key. The error contains no part of the key.
func CheckKey(key string) error {
	if decoded, err := base64.StdEncoding.DecodeString(key); err != nil || len(decoded) == 0 {
		return errors.New("the account key is not valid base64")
	}
	return nil
}

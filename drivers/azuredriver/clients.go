// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// The sidecar has a backoff of its own, so that a call is not tried for long.
	maxRetries    = 3
	firstRetry    = 100 * time.Millisecond
	longestRetry  = time.Second
	applicationID = "cosi-driver-azure"
)

type wrapTransport func(http.RoundTripper) http.RoundTripper

func clientOptions(caFile string, wrap wrapTransport) (azcore.ClientOptions, error) {
	transport, err := newTransport(caFile)
	if err != nil {
		return azcore.ClientOptions{}, err
	}
	return azcore.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: maxRetries, RetryDelay: firstRetry, MaxRetryDelay: longestRetry},
		Telemetry: policy.TelemetryOptions{ApplicationID: applicationID},
		Transport: &http.Client{Transport: wrap(transport), CheckRedirect: noRedirect},
	}, nil
}

// noRedirect keeps signed requests from going elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func newTransport(caFile string) (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	pem, err := driverkit.CertificateAuthorities(caFile)
	if err != nil || pem == "" {
		return transport, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pem))
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return transport, nil
}

// sharedKey authenticates the driver by an account key, and signs with it. It implements store.Signer.
type sharedKey struct {
	config     CredentialsConfig
	credential *service.SharedKeyCredential
	protocol   sas.Protocol

	mu  sync.Mutex
	key string
}

// newSharedKey makes no call and does not need the key yet: a file that is not there does not keep the
// driver from starting.
func newSharedKey(name string, config AccountConfig) (*sharedKey, error) {
	credential, err := service.NewSharedKeyCredential(name, "")
	if err != nil {
		return nil, fmt.Errorf("prepare the account key: %w", err)
	}
	protocol := sas.ProtocolHTTPS
	if strings.HasPrefix(config.publicURL(name), "http://") {
		protocol = sas.ProtocolHTTPSandHTTP
	}
	made := &sharedKey{config: config.Credentials, credential: credential, protocol: protocol}
	_ = made.refresh() // use says it to whom it concerns
	return made, nil
}

// refresh takes the key as it is now.
func (s *sharedKey) refresh() error {
	key, err := s.config.key()
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

// fingerprint changes with the key and does not show it.
func (s *sharedKey) fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte("account key " + s.key))
	return hex.EncodeToString(sum[:16])
}

// SignPolicy implements store.Signer.
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
func (a *account) use() error {
	if a.key == nil {
		return nil
	}
	if err := a.key.refresh(); err != nil {
		return driverkit.Unauthenticated("the driver has no usable key of storage account %s; an administrator has to provide it", a.name).WithDetail(err)
	}
	return nil
}

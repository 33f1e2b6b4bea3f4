// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
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

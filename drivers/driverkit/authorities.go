// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync"
)

// Authorities are the certificate authorities of a backend, in a PEM file that is read again when it changes: who renews
// them exchanges the mounted file, and nothing else.
type Authorities struct {
	path string

	mu  sync.Mutex
	pem string
}

// OpenAuthorities reads the file, with the errors of CertificateAuthorities. The path "" stands for the system's.
func OpenAuthorities(path string) (*Authorities, error) {
	pem, err := CertificateAuthorities(path)
	return &Authorities{path: path, pem: pem}, err
}

// PEM returns what the file holds now, for Credential.CertificateAuthority; the last that could be used while it is being
// exchanged; "" for the system's.
func (a *Authorities) PEM() string {
	pem, err := CertificateAuthorities(a.path)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.pem = pem
	}
	return a.pem
}

// Transport returns base with these authorities, for the driver's own calls.
func (a *Authorities) Transport(base *http.Transport) http.RoundTripper {
	if a.path == "" {
		return base
	}
	return &trusting{authorities: a, base: base}
}

// trusting trusts the authorities of now. It has a transport for as long as they stay the same.
type trusting struct {
	authorities *Authorities
	base        *http.Transport

	mu      sync.Mutex
	pem     string
	current *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *trusting) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.now().RoundTrip(request)
}

// CloseIdleConnections is what http.Client asks of a transport.
func (t *trusting) CloseIdleConnections() { t.now().CloseIdleConnections() }

func (t *trusting) now() *http.Transport {
	pem := t.authorities.PEM()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil && t.pem == pem {
		return t.current
	}
	if t.current != nil {
		t.current.CloseIdleConnections()
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pem))
	t.pem, t.current = pem, t.base.Clone()
	if t.current.TLSClientConfig == nil {
		t.current.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.current.TLSClientConfig.RootCAs = roots
	return t.current
}

// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync"
)

// Authorities holds the certificate authorities of a backend. It reads them from a PEM file, and reads the file again
// when it changes. To renew the authorities, replace the mounted file.
type Authorities struct {
	path string

	mu  sync.Mutex
	pem string
}

// OpenAuthorities reads the PEM file at path. It returns the same errors as CertificateAuthorities. An empty path
// selects the system's authorities.
func OpenAuthorities(path string) (*Authorities, error) {
	pem, err := CertificateAuthorities(path)
	return &Authorities{path: path, pem: pem}, err
}

// PEM returns the current contents of the file, for use in Credential.CertificateAuthority. If the file is unusable,
// for example while it is being replaced, PEM returns the last usable contents. It returns "" for the system's
// authorities.
func (a *Authorities) PEM() string {
	pem, err := CertificateAuthorities(a.path)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.pem = pem
	}
	return a.pem
}

// Transport returns a transport based on base that trusts these authorities, for the driver's own calls.
func (a *Authorities) Transport(base *http.Transport) http.RoundTripper {
	if a.path == "" {
		return base
	}
	return &trusting{authorities: a, base: base}
}

// trusting is a transport that trusts the current authorities. It keeps its transport until the authorities change.
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

// CloseIdleConnections lets http.Client close idle connections.
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

// SPDX-License-Identifier: Apache-2.0

package ctrlmanager

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Metrics say how a manager serves its metrics.
type Metrics struct {
	// Address is a TCP address to listen on, such as ":8080"; empty serves none.
	Address string
	// Secure serves them over TLS, and only to whom the API server knows and allows to get
	// /metrics. The manager's account must be allowed to create TokenReviews and
	// SubjectAccessReviews, as by the ClusterRole cosi-metrics-auth.
	Secure bool
	// CertDir is a directory with tls.crt and tls.key, which are read again when they
	// change; without them a certificate is made that nobody signed.
	CertDir string
}

// Options are those of the server in a manager.
func (m Metrics) Options() metricsserver.Options {
	options := metricsserver.Options{BindAddress: Address(m.Address)}
	if !m.Secure {
		return options
	}
	options.SecureServing = true
	options.CertDir = m.CertDir
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"} // HTTP/2 has no use here, and had weaknesses
	}}
	return options
}

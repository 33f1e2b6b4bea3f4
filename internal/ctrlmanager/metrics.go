// SPDX-License-Identifier: Apache-2.0

package ctrlmanager

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Metrics configure the metrics endpoint of a manager.
type Metrics struct {
	// Address is the TCP bind address, such as ":8080". Empty disables the endpoint.
	Address string
	// Secure serves metrics over TLS and only to clients that the API server authenticates and allows to get /metrics.
	// The manager's service account must be allowed to create TokenReviews and SubjectAccessReviews, as in the
	// ClusterRole cosi-metrics-auth.
	Secure bool
	// CertDir is a directory with tls.crt and tls.key, which are reloaded when they change. If it is empty, a
	// self-signed certificate is created.
	CertDir string
}

// Options returns the options of the manager's metrics server.
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
		c.NextProtos = []string{"http/1.1"} // HTTP/2 has no benefit here and has had vulnerabilities
	}}
	return options
}

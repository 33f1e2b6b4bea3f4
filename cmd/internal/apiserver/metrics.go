// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
)

// MetricsFlags defines the metrics flags of a program with a manager.
func MetricsFlags(f *pflag.FlagSet, m *ctrlmanager.Metrics) {
	f.StringVar(&m.Address, "metrics-address", ":8080", "TCP address that serves /metrics; empty serves none")
	f.BoolVar(&m.Secure, "metrics-secure", false,
		"serve /metrics over TLS, to whom the API server allows to get it (ClusterRole cosi-metrics-reader); needs the ClusterRole cosi-metrics-auth")
	f.StringVar(&m.CertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for --metrics-secure; empty means a certificate that nobody signed")
}

// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
)

// MetricsFlags defines the metrics flags of a program with a manager.
func MetricsFlags(f *pflag.FlagSet, m *ctrlmanager.Metrics) {
	f.StringVar(&m.Address, "metrics-address", ":8080", "bind address for /metrics; empty disables it")
	f.BoolVar(&m.Secure, "metrics-secure", false,
		"serve /metrics over TLS and authorize clients (ClusterRole cosi-metrics-reader); requires the ClusterRole cosi-metrics-auth")
	f.StringVar(&m.CertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for --metrics-secure; empty means a self-signed certificate")
}

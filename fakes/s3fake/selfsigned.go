// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"crypto/tls"

	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
)

// SelfSigned creates a certificate authority and a server certificate for the hosts (names or IP addresses; localhost
// and the loopback addresses are always included). It returns the configuration for Options.TLS, and the authority as
// PEM, which clients must trust.
func SelfSigned(hosts ...string) (*tls.Config, []byte, error) { return selfsigned.New(hosts...) }

// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// CheckEndpoint checks the URL of a backend in a configuration, which must be "" or http(s)://host[:port]. The error
// says what is wrong, shows the given example of a valid URL, and contains no part of a password.
func CheckEndpoint(value, example string) error {
	if value == "" {
		return nil
	}
	parsed, err := url.Parse(value)
	switch {
	case err != nil && !strings.Contains(value, "://") && !strings.Contains(value, "@"):
		return fmt.Errorf("%q must begin with http:// or https://, as in %s", value, example)
	case err != nil:
		return fmt.Errorf("is not a URL such as %s", example)
	case parsed.User != nil:
		return errors.New("must not contain a user or password; use credentials")
	case parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "":
		return fmt.Errorf("%q is not an http or https URL such as %s", value, example)
	case strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "":
		return fmt.Errorf("%q must end after the host and port", value)
	}
	return nil
}

// CertificateAuthorities reads the PEM file with the certificate authorities of a backend, for the driver's own
// client and for Credential.CertificateAuthority. It returns "" for an empty path. It returns an error if the file
// cannot be read, contains no certificate or is too large for a Secret.
func CertificateAuthorities(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the certificate authorities: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return "", fmt.Errorf("%s contains no PEM certificate", path)
	}
	if len(data) > cosi.MaxCredentialLength {
		return "", fmt.Errorf("%s has %d bytes, more than the maximum of %d in a workload's Secret", path, len(data), cosi.MaxCredentialLength)
	}
	return string(data), nil
}

// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func TestEndpointsOfBackends(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ value, want string }{
		"none":                       {"", ""},
		"a host":                     {"https://s3.example.com", ""},
		"a host, a port and a slash": {"http://127.0.0.1:9000/", ""},
		"no URL":                     {"http://%zz", "is not a URL"},
		"a host and a port":          {"127.0.0.1:9000", "must begin with http:// or https://, as in https://right.example.com"},
		"no scheme":                  {"s3.example.com", "such as https://right.example.com"},
		"another scheme":             {"ftp://s3.example.com", "such as https://right.example.com"},
		"no host":                    {"https://", "such as https://right.example.com"},
		"a password":                 {"https://user:hidden@s3.example.com", "must not contain a user or password"},
		"a password, another scheme": {"ftp://user:hidden@s3.example.com", "must not contain a user or password"},
		"a path":                     {"https://s3.example.com/path", "must end after the host and port"},
		"a query":                    {"https://s3.example.com?a=b", "must end after the host and port"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := driverkit.CheckEndpoint(tc.value, "https://right.example.com")
			if tc.want == "" && err == nil {
				return
			}
			if tc.want == "" || err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%q: %v, want %q", tc.value, err, tc.want)
			}
		})
	}
}

func TestCertificateAuthoritiesOfBackends(t *testing.T) {
	t.Parallel()
	if pem, err := driverkit.CertificateAuthorities(""); pem != "" || err != nil {
		t.Errorf("without a path: %q, %v", pem, err)
	}
	if _, err := driverkit.CertificateAuthorities(filepath.Join(t.TempDir(), "none.pem")); err == nil || !strings.Contains(err.Error(), "none.pem") {
		t.Errorf("a file that is not there: %v", err)
	}
	letters := filepath.Join(t.TempDir(), "letters.pem")
	if err := os.WriteFile(letters, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := driverkit.CertificateAuthorities(letters); err == nil || !strings.Contains(err.Error(), "contains no PEM certificate") {
		t.Errorf("a file without a certificate: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// TestTLS uses the command over HTTPS with the certificate that it writes, and not without.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--tls", "--data", t.TempDir()+"/data")
	if !strings.HasPrefix(c.Env["GCS_ENDPOINT_URL"], "https://") {
		t.Fatalf("the endpoint is %s", c.Env["GCS_ENDPOINT_URL"])
	}
	ca, err := os.ReadFile(c.Env["SSL_CERT_FILE"])
	wantNoError(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("%s holds no certificate", c.Env["SSL_CERT_FILE"])
	}
	key, err := os.ReadFile(c.Env["GOOGLE_APPLICATION_CREDENTIALS"])
	wantNoError(t, err)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, trusting)
	config, err := google.JWTConfigFromJSON(key, "https://www.googleapis.com/auth/cloud-platform")
	wantNoError(t, err)
	client, err := storage.NewClient(ctx, option.WithEndpoint(c.Env["GCS_ENDPOINT_URL"]+"/storage/v1/"), option.WithHTTPClient(config.Client(ctx)))
	wantNoError(t, err)
	wantNoError(t, client.Bucket("secure").Create(ctx, c.project(), nil))
	if err := write(ctx, client.Bucket("secure").Object("o"), []byte("text")); err != nil {
		t.Error(err)
	}
	if r, err := client.Bucket("secure").Object("o").NewReader(ctx); err != nil {
		t.Error(err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := c.storage(t).Bucket("secure").Create(t.Context(), c.project(), nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a client that does not know the authority: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package azurefakecmd_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
)

// TestCertificate serves all services with a certificate of the user, as `azurite --cert --key` does.
func TestCertificate(t *testing.T) {
	t.Parallel()
	cert, key, trusting := certificate(t)
	c := startChild(t, "--like", "azurite", "--queue-listen", "127.0.0.1:0", "--table-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if got := c.Env["SSL_CERT_FILE"]; got != cert {
		t.Errorf("the file with the certificate is %s", got)
	}
	c.WaitFor(t, "Azurite Blob service is successfully listening at https://127.0.0.1:")
	for service, url := range map[string]string{"Blob": c.Env["AZURE_STORAGE_BLOB_ENDPOINT"], "Queue": c.service("Queue") + "/devstoreaccount1"} {
		response, err := trusting.Get(url + "?comp=list")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "<Error>") {
			t.Errorf("%s responds %s", service, raw)
		}
	}
}

// TestCertificateOfACA prints the CA's file that clients of the user's certificate must trust, and does not write to it.
func TestCertificateOfACA(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	c := startChild(t, "--tls-cert", cert, "--tls-key", key, "--ca-file", ca)
	if got := c.Env["SSL_CERT_FILE"]; got != ca {
		t.Errorf("the file with the CA's certificate is %s", got)
	}
	if _, err := os.Stat(ca); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the CA was written: %v", err)
	}
}

// certificate creates a certificate and its key in two files, and a client that trusts the certificate.
func certificate(t *testing.T) (cert, key string, trusting *http.Client) {
	t.Helper()
	config, ca, err := selfsigned.New()
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: config.Certificates[0].Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return cert, key, &http.Client{Transport: transport}
}

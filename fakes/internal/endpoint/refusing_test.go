// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
)

// TestTLSIsSeen asks a server that words its refusals itself whether a request has come over TLS.
func TestTLSIsSeen(t *testing.T) {
	t.Parallel()
	config, ca, err := selfsigned.New()
	if err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]*tls.Config{"TLS 1.3": config, "nothing": nil} {
		var e endpoint.Endpoint
		err := e.Start(endpoint.Options{Name: "test", Address: "127.0.0.1:0", TLS: config, Malformed: []byte("<Error/>"), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			version := "nothing"
			if r.TLS != nil {
				version = tls.VersionName(r.TLS.Version)
			}
			_, _ = io.WriteString(w, version)
		})})
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
			t.Errorf("the request has come over %s (%v), want %s", got, err, want)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

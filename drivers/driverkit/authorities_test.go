// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestAuthorities has an administrator exchange the file of a driver that runs.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, other, err := s3fake.SelfSigned()
	mustSucceed(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	write := func(text []byte) {
		mustSucceed(t, os.WriteFile(file, text, 0o600))
	}
	write(other)
	authorities, err := driverkit.OpenAuthorities(file)
	mustSucceed(t, err)
	client := &http.Client{Transport: authorities.Transport(&http.Transport{})}
	for i, step := range []struct {
		write   []byte
		trusted bool
		want    []byte
	}{{other, false, other}, {own, true, own}, {[]byte("half a fi"), true, own}, {other, false, other}} {
		write(step.write)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		mustSucceed(t, err)
		response, err := client.Do(request)
		if trusted := err == nil; trusted != step.trusted {
			t.Errorf("step %d: trusted %t, %v", i+1, trusted, err)
		}
		if err == nil {
			_ = response.Body.Close()
		}
		if got := authorities.PEM(); got != string(step.want) {
			t.Errorf("step %d: workloads would get\n%s", i+1, got)
		}
	}
	if _, err := driverkit.OpenAuthorities(file + "x"); err == nil {
		t.Error("a file that does not exist is accepted")
	}
}

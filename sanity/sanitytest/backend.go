// SPDX-License-Identifier: Apache-2.0

package sanitytest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
)

// Build builds the command of a Go package, keeps it until the test ends, and returns the path of the binary.
func Build(t testing.TB, command string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(command))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, command)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", command, err, output)
	}
	return binary
}

// ByV1Alpha1 returns a copy of config that tests one of Cooper's drivers with the v1alpha1 contract. It sets the
// environment variable that makes the driver serve that contract.
func ByV1Alpha1(config sanity.Config) sanity.Config {
	config.Contract = sanity.V1Alpha1
	config.Authentication = nil // v1alpha1 requests do not identify service accounts
	config.Environment = append(slices.Clone(config.Environment), "COOPER_V1ALPHA1=true")
	return config
}

// Backend is a proxy that simulates failures of a store that cannot fail on demand. The proxy closes connections
// without a response, or rejects the driver's credentials. It implements sanity.Backend.
type Backend struct {
	// URL is the address of the proxy.
	URL string

	broken atomic.Value
}

// NewBackend serves a proxy for the store at endpoint until the test ends. The function refuse writes the response that
// this store sends to a caller with unknown credentials.
func NewBackend(t testing.TB, endpoint string, refuse func(http.ResponseWriter)) *Backend {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	made := &Backend{}
	made.broken.Store(sanity.Fault(""))
	proxy := &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(request *httputil.ProxyRequest) {
		request.SetURL(target)
		// Signatures cover the host that the client requested.
		request.Out.Host = request.In.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch made.broken.Load() {
		case sanity.BackendDown:
			panic(http.ErrAbortHandler)
		case sanity.LoginRefused:
			refuse(w)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	made.URL = server.URL
	return made
}

// Can implements sanity.Backend.
func (*Backend) Can(what sanity.Fault) bool {
	return what == sanity.BackendDown || what == sanity.LoginRefused
}

// Break implements sanity.Backend.
func (b *Backend) Break(_ context.Context, what sanity.Fault) error {
	if !b.Can(what) {
		return fmt.Errorf("this test backend does not support the fault %q", what)
	}
	b.broken.Store(what)
	return nil
}

// Mend implements sanity.Backend.
func (b *Backend) Mend(context.Context, sanity.Fault) error {
	b.broken.Store(sanity.Fault(""))
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// Package azblob_test runs the live tests of Microsoft's Go client for Blob Storage against the fake. The tests are in
// the client's module and run unmodified in the module cache.
package azblob_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// accounts are the accounts of the module's test-resources.json, by the prefix of their environment variables.
var accounts = map[string]string{"": "primary", "SECONDARY_": "secondary", "PREMIUM_": "premium", "SOFT_DELETE_": "softdelete", "DATALAKE_": "datalake", "IMMUTABLE_": "immutable"}

// known matches the tests that fail; docs/reference/judges.md has the reasons.
var known = regexp.MustCompile(`CPK(Fail)?$|StructuredMessage|SM(CRC64|Then|Custom)|SetExpiry|PermanentDelete$|Undelete(Block|Append)Blob|RequestHeadersAndQueryParameters|ListContainersSystem|WithHTTP$|AbortCopyInProgress|SnapshotOfSnapshot`)

// TestLive expects that only known tests fail.
func TestLive(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestSuites in fakes/azurefake has the rules that these tests showed")
	for name, least := range map[string]int{"container": 101, "service": 49, "blob": 139, "blockblob": 143, "appendblob": 88} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, good := live(t, name), 0
			for test, result := range results {
				if result != "fail" { // a skipped test is one that the authors do not run, either
					good++
				} else if !known.MatchString(test) {
					t.Errorf("%s fails", test)
				}
			}
			t.Logf("%d of %d did not fail", good, len(results))
			if good < least {
				t.Errorf("%d of %d did not fail, want %d", good, len(results), least)
			}
		})
	}
}

// live runs the tests of a package and returns their results.
func live(t *testing.T, name string) map[string]string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob").Output()
	wantNoError(t, err)
	command := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-vet=off", "-timeout=30m", "./"+name)
	command.Dir, command.Env, command.Stderr = strings.TrimSpace(string(dir)), environment(t), os.Stderr
	out, err := command.StdoutPipe()
	wantNoError(t, err)
	wantNoError(t, command.Start())
	results := map[string]string{}
	for events := json.NewDecoder(out); ; {
		var event struct{ Action, Test string }
		if err = events.Decode(&event); err != nil {
			break
		}
		if event.Test != "" && strings.Count(event.Test, "/") <= 1 && slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			results[event.Test] = event.Action
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	_ = command.Wait()      // it reports failed tests
	delete(results, "Test") // the suites
	return results
}

// environment starts a fake and returns the variables with which the tests reach it under Azure's host names.
func environment(t *testing.T) []string {
	t.Helper()
	options := azurefake.Options{Versioning: true, Domains: []string{"blob.core.windows.net"}}
	for _, account := range accounts {
		options.Accounts = append(options.Accounts, azurefake.Account{Name: account, KeepsContainers: strings.Count(account, "softdelete")})
	}
	fake := faketest.Open(t, azurefake.New, options)
	out := append(os.Environ(), "AZURE_RECORD_MODE=live", "PROXY_MANUAL_START=true", "PROXY_CERT=none", "CI=", "TF_BUILD=", "GOFLAGS=")
	for prefix, account := range accounts {
		key, _ := fake.Keys(account)
		out = append(out, prefix+"AZURE_STORAGE_ACCOUNT_NAME="+account, prefix+"AZURE_STORAGE_ACCOUNT_KEY="+key)
	}
	principal, err := fake.AddPrincipal(azurefake.Principal{Name: "tests"})
	wantNoError(t, err)
	_, err = fake.Assign(principal.ObjectID, "Storage Blob Data Owner", fake.GroupID())
	wantNoError(t, err)
	settings, authority, err := azurefake.SelfSigned("*.blob.core.windows.net", "login.microsoftonline.com", "management.azure.com")
	wantNoError(t, err)
	file := filepath.Join(t.TempDir(), "authority.pem")
	wantNoError(t, os.WriteFile(file, authority, 0o600))
	cloud := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/common/discovery/instance" {
			fake.ServeHTTP(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"tenant_discovery_endpoint": "https://login.microsoftonline.com/%s/v2.0/.well-known/openid-configuration", "metadata": []}`, fake.TenantID())
	}))
	cloud.TLS = settings
	cloud.StartTLS()
	t.Cleanup(cloud.Close)
	proxy := httptest.NewServer(tunnel(t, cloud.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	return append(out, "HTTPS_PROXY="+proxy.URL, "SSL_CERT_FILE="+file, "AZURE_STORAGE_ENCRYPTION_SCOPE=encryptionScope",
		"SUBSCRIPTION_ID="+fake.SubscriptionID(), "RESOURCE_GROUP_NAME="+fake.ResourceGroup(),
		"AZURE_TENANT_ID="+fake.TenantID(), "AZURE_CLIENT_ID="+principal.ClientID, "AZURE_CLIENT_SECRET="+principal.Secret)
}

// tunnel is an HTTP proxy that connects all hosts to one address.
func tunnel(t *testing.T, address string) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		to, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
		var from net.Conn
		if err == nil {
			from, _, err = http.NewResponseController(w).Hijack()
		}
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	}
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

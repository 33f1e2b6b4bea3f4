// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
)

// TestRequestsAreNotThrottledByTheClient verifies that there is no client-side limit. The API server limits
// requests itself. The default of client-go is five requests per second.
func TestRequestsAreNotThrottledByTheClient(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],` +
		`"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var access apiserver.Access
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	access.Flags(flags)
	if err := flags.Parse([]string{"--kubeconfig=" + file}); err != nil {
		t.Fatal(err)
	}
	config, err := access.Config()
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS >= 0 || config.RateLimiter != nil {
		t.Errorf("want no limit, got %v requests a second, %v", config.QPS, config.RateLimiter)
	}
}

// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/storage"
	"golang.org/x/oauth2/google"
)

// accessToken logs in with the key file that the command wrote.
func accessToken(t *testing.T, c *child) string {
	t.Helper()
	raw, err := os.ReadFile(c.env["GOOGLE_APPLICATION_CREDENTIALS"])
	if err != nil {
		t.Fatal(err)
	}
	config, err := google.JWTConfigFromJSON(raw, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		t.Fatal(err)
	}
	token, err := config.TokenSource(t.Context()).Token()
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letters.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inUse := filepath.Join(t.TempDir(), "data")
	startChild(t, "--data", inUse)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte("rules: [{operation: storage.objects.get, effect: explode}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a busy port":                     {[]string{"--listen", busy.Addr().String()}, "the port is in use by another process; stop it, or choose another port"},
		"a directory with something else": {[]string{"--listen", "127.0.0.1:0", "--data", foreign}, "was not made by this program (it holds letters.txt); choose an empty or a new directory"},
		"a directory that is in use":      {[]string{"--listen", "127.0.0.1:0", "--data", inUse}, "is in use by another process"},
		"a plan with an unknown effect":   {[]string{"--listen", "127.0.0.1:0", "--faults", plan}, `effect "explode" is not one of fail`},
		"a plan that is not there":        {[]string{"--listen", "127.0.0.1:0", "--faults", "/nowhere.yaml"}, "read the fault plan"},
		"a pool without an issuer":        {[]string{"--listen", "127.0.0.1:0", "--pool", "p"}, "it must be ID=ISSUER"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := command(t.Context(), tc.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	token := accessToken(t, c)
	expect := func(method, path, token, body string, status int, want string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.env["GCS_ENDPOINT_URL"]+"/_cooper/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || !strings.Contains(string(raw), want) {
			t.Errorf("%s %s: got %d %q, want %d with %q", method, path, resp.StatusCode, raw, status, want)
		}
	}
	expect("GET", "health", "", "", 200, "ok")
	expect("GET", "inventory", "", "", 401, "the administrator")
	expect("PUT", "faults", token, "rules: [{operation: storage.buckets.insert, code: forbidden, times: 1}]", 204, "")
	expect("PUT", "faults", token, "rules: [{operation: storage.buckets.insert, effect: fail}]", 400, "needs a code")
	b := c.storage(t).Bucket("first")
	if err := b.Create(t.Context(), c.project(), &storage.BucketAttrs{}); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("the fault did not hit: %v", err)
	}
	if err := b.Create(t.Context(), c.project(), &storage.BucketAttrs{}); err != nil {
		t.Error(err)
	}
	expect("GET", "inventory", token, "", 200, `"name": "first"`)
	expect("GET", "calls", token, "", 200, `"code": "forbidden"`)
	expect("DELETE", "faults", token, "", 204, "")
	expect("GET", "faults", token, "", 200, `"rules": []`)
}

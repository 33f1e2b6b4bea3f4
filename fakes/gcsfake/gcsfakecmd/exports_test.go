// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// TestExportLines reads what the command prints for Google's clients. The variable that disables their credentials is only
// set if the fake serves requests without them. Otherwise, a comment names the flag.
func TestExportLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want int
	}{
		"by default":          {nil, http.StatusUnauthorized},
		"with --anonymous-is": {[]string{"--anonymous-is", "cooper-admin"}, http.StatusOK},
		"with --project":      {[]string{"--anonymous-is", "cooper-admin", "--project", "one", "--project", "two"}, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, tc.args...)
			host, set := c.Env["STORAGE_EMULATOR_HOST"]
			if set != (tc.args != nil) || set && host != c.Env["GCS_ENDPOINT_URL"] {
				t.Errorf("STORAGE_EMULATOR_HOST is %q", host)
			}
			if address := c.Env["STORAGE_EMULATOR_HOST_GRPC"]; address != strings.TrimPrefix(host, "http://") {
				t.Errorf("STORAGE_EMULATOR_HOST_GRPC is %q", address)
			}
			if c.Env["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] != c.Env["GCS_ENDPOINT_URL"]+"/storage/v1/" || c.Env["CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"] != c.Env["GOOGLE_APPLICATION_CREDENTIALS"] {
				t.Errorf("the settings of gcloud are %v", c.Env)
			}
			hint := slices.ContainsFunc(slices.Collect(maps.Keys(c.Env)), func(line string) bool {
				return strings.HasPrefix(line, "# ") && strings.Contains(line, "--anonymous-is") && strings.Contains(line, "STORAGE_EMULATOR_HOST")
			})
			if hint == set {
				t.Errorf("a comment that names the flag: %t", hint)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Env["GCS_ENDPOINT_URL"]+"/storage/v1/b?project=any-project", http.NoBody)
			wantNoError(t, err)
			got, err := http.DefaultClient.Do(req)
			wantNoError(t, err)
			wantNoError(t, got.Body.Close())
			if got.StatusCode != tc.want {
				t.Errorf("a list without credentials: %d, want %d", got.StatusCode, tc.want)
			}
		})
	}
}

// TestGcloudByExportLines runs gcloud with nothing but the exported variables.
func TestGcloudByExportLines(t *testing.T) {
	t.Parallel()
	if !fulltest.Soak() {
		t.Skip("set COOPER_SOAK to try gcloud, which takes seconds to start each time")
	}
	sh := processtest.NewShell(t, "gcloud")
	c := startChild(t)
	for name, value := range c.Env {
		sh.Set(name + "=" + value)
	}
	sh.Set("CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_CORE_DISABLE_PROMPTS=1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true")
	sh.Must("gcloud", "storage", "buckets", "create", "gs://exported", "--project="+c.project())
	sh.Must("gcloud", "storage", "cp", "small.txt", "gs://exported/small.txt")
	if out := sh.Must("gcloud", "storage", "ls", "gs://exported"); !strings.Contains(out, "small.txt") {
		t.Errorf("ls prints %s", out)
	}
}

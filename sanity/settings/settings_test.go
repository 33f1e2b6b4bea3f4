// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/settings"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sanity.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"an unknown key":                 {"endpiont: unix:///x.sock\n", "sanity.yaml: endpiont: there is no such field; did you mean endpoint?"},
		"an unknown nested key":          {"hooks: {makebucket: [x]}\n", "hooks.makebucket: there is no such field; did you mean hooks.makeBucket?"},
		"an unknown fault":               {"hooks: {break: {login: [x]}}\n", `hooks.break: "login" is neither down nor login-refused`},
		"no YAML":                        {"endpoint: [", "sanity.yaml"},
		"an unknown authentication type": {"authentication: [Password]\n", "neither Key nor ServiceAccount"},
		"an unknown policy":              {"nonEmptyDelete: maybe\n", "neither refuse nor delete"},
		"not a duration":                 {"limits: {settle: soon}\n", `limits.settle: "soon"`},
		"a negative duration":            {"limits: {rpc: -1s}\n", "limits.rpc"},
		"a missing authority":            {"dataPlane: {certificateAuthority: nowhere.pem}\n", "nowhere.pem"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := settings.Read(write(t, tc.text))
			if err == nil {
				_, err = file.Config()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestHooksAreCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := settings.Read(write(t, `
endpoint: unix:///x.sock
authentication: [Key, ServiceAccount]
limits: {settle: 2s}
hooks:
  inventory: [sh, -c, 'echo "bucket b 1"; echo "key k"']
  makeBucket: [sh, -c, 'echo "$SANITY_BUCKET_NAME $SANITY_BUCKET_ID" > `+dir+`/made']
  removeBucket: ["false"]
  bucketID: "store.{name}"
  break: {down: ["true"]}
  mend: {down: ["true"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	config, err := file.Config()
	if err != nil {
		t.Fatal(err)
	}
	resources, err := config.Inventory(t.Context())
	want := []sanity.Resource{{Kind: "bucket", Name: "b 1"}, {Kind: "key", Name: "k"}}
	if diff := cmp.Diff(want, resources); err != nil || diff != "" {
		t.Errorf("inventory: %v (-want +got)\n%s", err, diff)
	}
	if err := config.Fixture.MakeBucket(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	if made, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(made) != "one store.one\n" {
		t.Errorf("the hook saw %q, %v", made, err)
	}
	if err := config.Fixture.RemoveBucket(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "hook false") {
		t.Errorf("want an error that names the hook, got %v", err)
	}
	if !config.Backend.Can(sanity.BackendDown) || config.Backend.Can(sanity.LoginRefused) {
		t.Error("only the fault with hooks can be started")
	}
	both := []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
	if !cmp.Equal(both, config.Authentication) || config.Limits.Settle != 2*time.Second || len(config.Probers) != 3 {
		t.Errorf("the rest of the file is lost: %+v", config.Limits)
	}
}

// TestExamplesAreValid reads the files that the how-to shows for each reference driver.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../docs/howto/sanity/*.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("want an example for each reference driver, got %q, %v", paths, err)
	}
	for _, path := range paths {
		file, err := settings.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		config, err := file.Config()
		if err != nil || config.Launcher == nil || config.Inventory == nil || config.Fixture == nil {
			t.Errorf("%s: %v, or a hook is missing", path, err)
		}
	}
}

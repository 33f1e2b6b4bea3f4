// SPDX-License-Identifier: Apache-2.0

package newdriver //nolint:testpackage // a partial failure cannot be provoked from outside

import (
	"bytes"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/sanity/settings"
)

// root is the root of the repository.
const root = "../../../.."

// TestMake checks the generated files. The pages docs/howto/write-a-driver.md and docs/tutorial/vendor.md
// build and test them and claim a bucket.
func TestMake(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options Options
		class   string
		goMod   string
	}{
		"of a name with dots, with a published Cooper": {
			Options{Driver: "acme.example.com", Version: "v1.2.3"},
			"acme",
			"module example.com/cosi-driver-acme\n\ngo 1.26\n\nrequire github.com/cooper-cosi/cooper v1.2.3\n",
		},
		"of a name that YAML would take for a number, with a module": {
			Options{Driver: "1", Module: "example.org/~me/d", Version: "v1.0.0-rc.1"},
			"1",
			"module example.org/~me/d\n\ngo 1.26\n\nrequire github.com/cooper-cosi/cooper v1.0.0-rc.1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "deeper", `a "strange" place`)
			var said bytes.Buffer
			tc.options.Dir, tc.options.Out = dir, &said
			if err := Make(tc.options); err != nil {
				t.Fatal(err)
			}
			files := read(t, dir)
			want := []string{
				".dockerignore", ".gitignore", "Dockerfile", "README.md", "access.go", "buckets.go", "claim.yaml", "driver_test.go", "go.mod", "main.go",
				"sanity.yaml", "shelf.go", "values.yaml",
			}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.goMod, files["go.mod"]); diff != "" {
				t.Errorf("go.mod (-want +got):\n%s", diff)
			}
			checkGo(t, files)
			if _, err := settings.Read(filepath.Join(dir, "sanity.yaml")); err != nil {
				t.Error(err)
			}
			checkNames(t, files["claim.yaml"], tc.options.Driver, tc.class)
			if !strings.Contains(said.String(), "go test .") || !strings.Contains(said.String(), dir) {
				t.Errorf("it does not say how to go on: %s", &said)
			}
		})
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}

func checkGo(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
			t.Errorf("%s is not as gofmt writes it: %v", name, err)
		}
	}
}

func checkNames(t *testing.T, text, driver, name string) {
	t.Helper()
	documents := strings.Split(text, "---\n")
	if len(documents) != 4 {
		t.Fatalf("claim.yaml has %d documents, want 4", len(documents))
	}
	for i, document := range documents {
		var object struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Spec struct {
				DriverName string `json:"driverName"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Metadata.Name != name || i < 2 && object.Spec.DriverName != driver {
			t.Errorf("document %d: %+v, want name %q and driver %q", i, object, name, driver)
		}
	}
}

func TestMakeOfACheckout(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "driver")
	if err := Make(Options{Driver: "acme", Dir: dir, Checkout: root, Version: "v0.0.0-20260101000000-0123456789ab", Out: &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	want := "require github.com/cooper-cosi/cooper v0.0.0\n\nreplace github.com/cooper-cosi/cooper => \"" + sources + "\"\n"
	if got := read(t, dir)["go.mod"]; !strings.HasSuffix(got, want) {
		t.Errorf("go.mod does not end with\n%s:\n%s", want, got)
	}
}

func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		driver, module, version, checkout, want string
	}{
		"no name":                      {version: "v1.0.0", want: `"" is not a valid driver name: use a DNS name`},
		"a name in capitals":           {driver: "Acme", version: "v1.0.0", want: `"Acme" is not a valid driver name`},
		"a name that leads elsewhere":  {driver: "../acme", version: "v1.0.0", want: `"../acme" is not a valid`},
		"a name for a terminal":        {driver: "a\x1b[2J", version: "v1.0.0", want: `"a\x1b[2J" is not a valid`},
		"a name too long for a class":  {driver: strings.Repeat("a", 64), version: "v1.0.0", want: "at most 63 bytes"},
		"a module with more than that": {driver: "acme", module: "a\nreplace x", version: "v1.0.0", want: `--module "a\nreplace x" is not a valid`},
		"a Cooper between releases":    {driver: "acme", version: "v0.0.0-20260101000000-0123456789ab", want: "--checkout"},
		"a Cooper of changed sources":  {driver: "acme", version: "v1.0.0+dirty", want: `the version of cooper, "v1.0.0+dirty", is not a release`},
		"a checkout of something else": {driver: "acme", checkout: ".", want: "does not contain Cooper's source code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			o := Options{Driver: tc.driver, Module: tc.module, Version: tc.version, Checkout: tc.checkout, Dir: filepath.Join(parent, "made"), Out: &bytes.Buffer{}}
			if err := Make(o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
			if left := read(t, parent); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) error{
		"an empty directory":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a file":                           func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"a link that leads nowhere so far": func(path string) error { return os.Symlink("elsewhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "there")
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			err = Make(Options{Driver: "acme", Version: "v1.0.0", Dir: path, Out: &bytes.Buffer{}})
			if err == nil || !strings.Contains(err.Error(), "there already exists and is not overwritten") {
				t.Errorf("want an error about the existing directory, got %v", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("the existing file was removed: %v", err)
			}
		})
	}
}

// TestNothingIsLeftOfAFailure fails at the second of two files and verifies that no directory is left.
func TestNothingIsLeftOfAFailure(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	templates := fstest.MapFS{"template/a.txt": {Data: []byte("{{.Name}}")}, "template/b.txt": {Data: []byte("{{.Nothing}}")}}
	if err := write(templates, skeleton{Name: "acme"}, filepath.Join(parent, "made")); err == nil || !strings.Contains(err.Error(), "Nothing") {
		t.Errorf("want the error of the template, got %v", err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) > 0 {
		t.Errorf("it left %v (%v)", entries, err)
	}
}

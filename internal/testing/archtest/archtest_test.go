// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/cooper-cosi/cooper"

// root is the path of the module from this package.
const root = "../../.."

func TestThisModule(t *testing.T) {
	t.Parallel()
	// Reading every source file here, and not only in go list's process, also registers the files in the test cache as
	// dependencies.
	report(t, sourceFiles(t))
	pkgs := list(t, root)
	report(t, Imports(module, pkgs))
	report(t, Libraries(module, pkgs))
	report(t, Naming(pkgs))
	report(t, Documented(pkgs))
	report(t, Requirements(required(t)))
}

// TestOtherModules checks the packages of the modules below the root, except those of tools. Their imports have no
// layers, because nothing that is released imports them.
func TestOtherModules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob(root + "/*/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range append(files, nested...) {
		if strings.HasPrefix(file, root+"/tools/") {
			continue
		}
		pkgs := list(t, filepath.Dir(file))
		report(t, Naming(pkgs))
		report(t, Documented(pkgs))
		checked += len(pkgs)
	}
	if checked == 0 {
		t.Error("no module below the root has packages")
	}
}

func report(t *testing.T, violations []Violation) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}

// list asks go list for all packages of the module in a directory.
func list(t *testing.T, dir string) []Package {
	t.Helper()
	out := goCommand(t, dir, "list", "-json=ImportPath,Name,Doc,Imports,Deps,GoFiles", "./...")
	var pkgs []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg Package
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg)
	}
}

// required returns the modules that the main go.mod requires, and whether directly.
func required(t *testing.T) map[string]bool {
	t.Helper()
	var mod struct {
		Require []struct {
			Path     string `json:"Path"`
			Indirect bool   `json:"Indirect"`
		} `json:"Require"`
	}
	if err := json.Unmarshal(goCommand(t, root, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, r := range mod.Require {
		direct[r.Path] = !r.Indirect
	}
	return direct
}

func goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// sourceFiles checks all Go files of the module.
func sourceFiles(t *testing.T) []Violation {
	t.Helper()
	var found []Violation
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			if path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found = append(found, File(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), source)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestShortTestsExist looks for each test that a package assigns to the short tier by name.
func TestShortTestsExist(t *testing.T) {
	t.Parallel()
	list, name := regexp.MustCompile(`(?s)\nvar shortTests = \[\]string\{(.*?)\}\n`), regexp.MustCompile(`"(\w+)"`)
	found := 0
	for dir, source := range testSources(t) {
		for _, names := range list.FindAllStringSubmatch(source, -1) {
			for _, of := range name.FindAllStringSubmatch(names[1], -1) {
				if found++; !strings.Contains(source, "\nfunc "+of[1]+"(t *testing.T)") {
					t.Errorf("%s has no test %s, which shortTests names", dir, of[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no package has shortTests")
	}
}

// testSources returns the text of all tests of each directory.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		sources[filepath.Dir(path)] += string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

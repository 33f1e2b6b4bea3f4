// SPDX-License-Identifier: Apache-2.0

// Package archtest checks rules for the source code that the compiler does not check: which packages may import each
// other, how packages are named and documented, and how long files may be. Its tests apply the rules to this module. No
// other package imports it.
package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is the part of the output of `go list -json` that the rules need.
type Package struct {
	ImportPath string   `json:"ImportPath"`
	Name       string   `json:"Name"`
	Doc        string   `json:"Doc"`
	Imports    []string `json:"Imports"` // direct, without those of tests
	Deps       []string `json:"Deps"`    // direct and indirect
	GoFiles    []string `json:"GoFiles"` // without tests
}

// Violation is a message that names the package or file, the rule that it breaks, and what to do.
type Violation string

// layers returns the layer of each directory of the module. A package may only import packages of its own layer or a
// lower one. The longest matching directory determines the layer.
func layers() map[string]int {
	return map[string]int{
		"proto":       0,
		"api":         0,
		"deploy":      0, // manifests, embedded
		"docs":        0, // manifests, embedded
		"fakes/fault": 0,

		"internal": 1,

		"internal/testing":  2, // helpers of tests, which may import the suite
		"drivers/driverkit": 2,
		"sanity":            2,
		"fakes":             2,

		"controller": 3,
		"obc":        3,
		"sidecar":    3,
		"drivers":    3,

		"testenv": 4,

		"cmd":       5,
		"bench":     5,
		"hack":      5,
		"lifecycle": 5, // tests only
	}
}

// ban forbids imports. It names directories of the module, import paths of other modules (with a dot in the first
// element) and the standard library's testing. Each includes everything below it.
type ban struct {
	who    []string
	except []string // subdirectories that are exempt
	never  []string
	direct bool // only direct imports count
	why    string
}

func bans() []ban {
	// sigs.k8s.io/yaml is an ordinary YAML library and allowed.
	kubernetes := []string{"k8s.io", "sigs.k8s.io/controller-runtime"}
	product := []string{"api", "proto", "internal", "controller", "obc", "sidecar", "drivers", "sanity", "cmd"}
	return []ban{
		{
			who:   []string{"controller"},
			never: []string{"proto", "sidecar", "drivers", "sanity"},
			why:   "the controller makes no RPCs and does not depend on drivers",
		},
		{
			who:   []string{"obc"},
			never: []string{"controller", "sidecar", "drivers", "sanity"},
			why:   "it serves ObjectBucketClaims only by means of COSI objects",
		},
		{
			who:   []string{"sidecar"},
			never: []string{"controller", "drivers", "sanity"},
			why:   "the sidecar uses a driver only through its RPCs",
		},
		{
			who:   []string{"drivers"},
			never: append([]string{"api", "controller", "sidecar", "sanity"}, kubernetes...),
			why:   "a driver never reads Kubernetes",
		},
		{
			who:    []string{"drivers"},
			except: []string{"drivers/driverkit"},
			never:  []string{"internal/credstore"},
			direct: true,
			why:    "drivers use the credential store through driverkit/credentials",
		},
		{
			who:   []string{"sanity"},
			never: append([]string{"api", "drivers", "controller", "sidecar"}, kubernetes...),
			why:   "the conformance suite tests drivers that do not use our code",
		},
		{
			who:    product,
			except: []string{"cmd/cooper"},
			never:  []string{"fakes", "testenv"},
			why:    "releases contain no fakes, except cooper, which runs a local system",
		},
		{
			who:    product,
			except: []string{"cmd/cooper", "cmd/cosi-sanity"},
			never:  []string{"sanity/memdriver"},
			why:    "only cosi-sanity serve-strict contains the in-memory driver",
		},
		{
			who:    product,
			never:  []string{"testing"},
			direct: true,
			why:    "releases contain no test code; put packages for tests below internal/testing or end their names in test",
		},
		{
			who:    []string{"testenv/system", "testenv/controlplane"},
			never:  []string{"testing"},
			direct: true,
			why:    "cooper up starts the same systems without a test",
		},
	}
}

// Imports checks the packages of a module against the layers and the bans.
func Imports(module string, pkgs []Package) []Violation {
	var found []Violation
	for _, pkg := range pkgs {
		found = append(found, layering(module, pkg)...)
		if forTests(pkg.ImportPath) {
			continue
		}
		found = append(found, noTestPackages(module, pkg)...)
		for _, b := range bans() {
			found = append(found, b.check(module, pkg)...)
		}
	}
	return found
}

func layering(module string, pkg Package) []Violation {
	own, ok := layerOf(module, pkg.ImportPath)
	if !ok {
		return []Violation{Violation(pkg.ImportPath + ": its directory has no layer: add it to layers()")}
	}
	var found []Violation
	for _, path := range pkg.Imports {
		if !below(path, module) {
			continue
		}
		if other, _ := layerOf(module, path); other > own {
			found = append(found, Violation(fmt.Sprintf("%s imports %s, which is above it: see layers()", pkg.ImportPath, path)))
		}
	}
	return found
}

// forTests reports whether a package is for tests: it is below internal/testing, or its name ends in test, like
// httptest and iotest. It may import testing and fakes.
func forTests(path string) bool {
	return strings.HasSuffix(path, "test") || strings.Contains(path, "/internal/testing/")
}

// noTestPackages forbids packages for tests in all other packages, since those may be part of a release.
func noTestPackages(module string, pkg Package) []Violation {
	var found []Violation
	for _, path := range pkg.Imports {
		if below(path, module) && forTests(path) {
			found = append(found, Violation(fmt.Sprintf("%s imports %s, which is for tests", pkg.ImportPath, path)))
		}
	}
	return found
}

func layerOf(module, path string) (layer int, ok bool) {
	longest := ""
	for dir, number := range layers() {
		if below(path, module+"/"+dir) && len(dir) > len(longest) {
			longest, layer = dir, number
		}
	}
	return layer, longest != ""
}

func (b ban) check(module string, pkg Package) []Violation {
	in := func(dirs []string) func(path string) bool {
		return func(path string) bool {
			return slices.ContainsFunc(dirs, func(dir string) bool { return below(path, importPath(module, dir)) })
		}
	}
	if !in(b.who)(pkg.ImportPath) || in(b.except)(pkg.ImportPath) {
		return nil
	}
	imports, verb := pkg.Deps, "depends on"
	if b.direct {
		imports, verb = pkg.Imports, "imports"
	}
	never := in(b.never)
	var found []Violation
	for _, path := range imports {
		if never(path) {
			found = append(found, Violation(fmt.Sprintf("%s %s %s: %s", pkg.ImportPath, verb, path, b.why)))
		}
	}
	return found
}

// importPath converts a directory of the module to an import path. It returns paths of other modules and of the
// standard library unchanged.
func importPath(module, dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	if strings.Contains(first, ".") || dir == "testing" {
		return dir
	}
	return module + "/" + dir
}

// below reports whether an import path is parent or is below it.
func below(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

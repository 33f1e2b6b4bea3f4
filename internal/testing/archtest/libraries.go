// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"slices"
)

// library is a package that modules outside of this one import by itself. They compile what it depends on, so the
// table of libraries says what that may be.
type library struct {
	dir string
	// cooper are the directories of this module that it may depend on beside its own.
	cooper []string
	// cloud is the SDK that it may depend on.
	cloud string
}

// libraries covers each directory with what is below it. The packages of tests are not meant: nobody else compiles
// them.
func libraries() []library {
	stores := []string{"fakes/fault", "fakes/internal"}
	return []library{
		{dir: "fakes/s3fake", cooper: stores},
		{dir: "fakes/gcsfake", cooper: stores},
		{dir: "fakes/azurefake", cooper: stores, cloud: "github.com/Azure"}, // Azure's own fakes of its management API
		{dir: "fakes/fault"},
		{dir: "fakes/faketest"},
		{dir: "fakes/fakecontainer"},
		{dir: "drivers/driverkit", cooper: []string{"proto", "internal/credstore", "internal/unixsocket", "internal/testing", "internal/flock"}}, // the last two by drivertest
		{dir: "sanity", cooper: []string{"proto", "internal/strictyaml"}},
	}
}

// yaml is a YAML library: it has the address of a Kubernetes project and depends on none.
const yaml = "sigs.k8s.io/yaml"

// Libraries checks that whoever imports one library of the module compiles no other part of Cooper, no SDK of another
// cloud and no Kubernetes.
func Libraries(module string, pkgs []Package) []Violation {
	foreign := []string{
		"k8s.io", "sigs.k8s.io",
		"github.com/aws", "github.com/minio/minio-go", "github.com/Azure", "cloud.google.com/go", "google.golang.org/api",
	}
	var found []Violation
	for _, lib := range libraries() {
		own := importPath(module, lib.dir)
		allowed := func(path string) bool {
			if !below(path, module) {
				is := func(prefix string) bool { return prefix != lib.cloud && below(path, prefix) }
				return path == yaml || !slices.ContainsFunc(foreign, is)
			}
			return below(path, own) || slices.ContainsFunc(lib.cooper, func(dir string) bool { return below(path, importPath(module, dir)) })
		}
		for _, pkg := range pkgs {
			if !below(pkg.ImportPath, own) {
				continue
			}
			for _, path := range pkg.Deps {
				if !allowed(path) {
					found = append(found, Violation(fmt.Sprintf(
						"%s depends on %s: whoever imports %s alone compiles it, too; see libraries()", pkg.ImportPath, path, lib.dir)))
				}
			}
		}
	}
	return found
}

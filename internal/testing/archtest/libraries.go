// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"slices"
)

// library is a package that other modules import on its own. They compile its dependencies, so the table of libraries
// limits those.
type library struct {
	dir string
	// cooper are the directories of this module, other than its own, that it may depend on.
	cooper []string
	// cloud is the only SDK that it may depend on.
	cloud string
}

// libraries returns the libraries. Each directory includes everything below it, except packages for tests, which other
// modules do not compile.
func libraries() []library {
	stores := []string{"fakes/fault", "fakes/internal"}
	return []library{
		{dir: "fakes/s3fake", cooper: stores},
		{dir: "fakes/gcsfake", cooper: stores},
		{dir: "fakes/azurefake", cooper: stores, cloud: "github.com/Azure"}, // Azure's own fakes of its management API
		{dir: "fakes/fault"},
		{dir: "fakes/faketest"},
		{dir: "drivers/driverkit", cooper: []string{"proto", "internal/credstore", "internal/unixsocket", "internal/testing", "internal/flock"}}, // internal/testing by drivertest
		{dir: "sanity", cooper: []string{"proto", "internal/strictyaml"}},
	}
}

// yaml is a YAML library. It is published by the Kubernetes project but does not depend on Kubernetes.
const yaml = "sigs.k8s.io/yaml"

// Libraries checks that an import of one library compiles neither other parts of Cooper, nor the SDK of another cloud,
// nor Kubernetes.
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
						"%s depends on %s, which users of %s would have to compile, too; see libraries()", pkg.ImportPath, path, lib.dir)))
				}
			}
		}
	}
	return found
}

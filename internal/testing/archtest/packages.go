// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// vague returns names that do not describe a purpose. A package with such a name is imported everywhere and keeps
// growing.
func vague() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "shared", "base", "kit", "kinds", "terms", "managers", "objects"}
}

// Naming refuses packages with a vague name.
func Naming(pkgs []Package) []Violation {
	var found []Violation
	for _, pkg := range pkgs {
		dir := pkg.ImportPath[strings.LastIndex(pkg.ImportPath, "/")+1:]
		if slices.Contains(vague(), dir) || slices.Contains(vague(), pkg.Name) {
			found = append(found, Violation(pkg.ImportPath+": the name is vague: name the package after what it provides"))
		}
	}
	return found
}

// Documented refuses packages without a package comment. A package that only contains tests needs none, since it
// cannot be imported.
func Documented(pkgs []Package) []Violation {
	var found []Violation
	for _, pkg := range pkgs {
		if pkg.Doc == "" && len(pkg.GoFiles) > 0 {
			found = append(found, Violation(pkg.ImportPath+": no package comment: describe the purpose of the package"))
		}
	}
	return found
}

// Requirements refuses modules that the main go.mod must never require. required are module paths.
func Requirements(required []string) []Violation {
	var found []Violation
	for _, path := range required {
		if path == "k8s.io/kubernetes" {
			found = append(found, Violation(fmt.Sprintf("go.mod requires %s: the control plane is built in a module of its own", path)))
		}
	}
	return found
}

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

// maxRequirements is the maximum number of modules that the packages and tests of the main module import.
const maxRequirements = 55

// Requirements refuses modules that the main go.mod must never require, and too many direct requirements. The keys of
// required are module paths. The values report whether the requirement is direct.
func Requirements(required map[string]bool) []Violation {
	var found []Violation
	direct := 0
	for path, isDirect := range required {
		if isDirect {
			direct++
		}
		if path == "k8s.io/kubernetes" {
			found = append(found, Violation(fmt.Sprintf("go.mod requires %s: the control plane is built in a module of its own", path)))
		}
	}
	if direct > maxRequirements {
		found = append(found, Violation(fmt.Sprintf("go.mod has %d direct requirements, at most %d: move a test that needs another module to judges or e2e (docs/adr/0058)", direct, maxRequirements)))
	}
	return found
}

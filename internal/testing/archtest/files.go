// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// maxFileLines is the maximum length of a file. Split longer files.
const maxFileLines = 600

// licenceHeader is required in every file that is not generated, so that copies of the file carry the licence.
const licenceHeader = "// SPDX-License-Identifier: Apache-2.0"

// File checks one Go source file; name is its path in the module.
func File(name string, source []byte) []Violation {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []Violation{Violation(fmt.Sprintf("%s: not Go: %v", name, err))}
	}
	if ast.IsGenerated(file) {
		return nil
	}
	var found []Violation
	if !bytes.HasPrefix(source, []byte(licenceHeader+"\n\n")) {
		found = append(found, Violation(fmt.Sprintf("%s: its first line is not %q, with an empty line after it", name, licenceHeader)))
	}
	if lines := bytes.Count(source, []byte("\n")); lines > maxFileLines {
		found = append(found, Violation(fmt.Sprintf("%s: %d lines, at most %d: split it by subject", name, lines, maxFileLines)))
	}
	if strings.HasSuffix(name, "_test.go") {
		found = append(found, sleeps(fset, file)...)
	}
	return found
}

// sleeps finds calls of time.Sleep. Tests must wait for a condition, not for a period of time.
func sleeps(fset *token.FileSet, file *ast.File) []Violation {
	var found []Violation
	ast.Inspect(file, func(node ast.Node) bool {
		sel, ok := node.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
			position := fset.Position(sel.Pos())
			found = append(found, Violation(fmt.Sprintf("%s: time.Sleep in a test: wait for the event itself", position)))
		}
		return true
	})
	return found
}

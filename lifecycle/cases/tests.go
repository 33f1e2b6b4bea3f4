// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Attribute is the key under which go test -json reports each case ID that a test covers.
const Attribute = "case"

// Covers declares the cases that a test covers. When a subtest fails, its own cases are reported if it
// declares any, and otherwise those of the enclosing test.
func Covers(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !Known(id) {
			t.Errorf("There is no case %q: see package lifecycle/cases.", id)
		}
		t.Attr(Attribute, id)
	}
}

// Tests returns the names of the tests in a directory by case ID: those that pass the ID to Covers, directly
// or in a subtest.
func Tests(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("find the tests in %s: %w", dir, err)
	}
	tests := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("find the tests in %s: %w", dir, err)
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			for _, id := range idsIn(f) {
				tests[id] = append(tests[id], f.Name.Name)
			}
		}
	}
	return tests, nil
}

// idsIn returns the case IDs among the strings in a function, without duplicates.
func idsIn(f *ast.FuncDecl) []string {
	var ids []string
	ast.Inspect(f, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && Known(text) {
				ids = append(ids, text)
			}
		}
		return true
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

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

// Attribute is the key under which go test -json reports each ID that a test covers.
const Attribute = "case"

// Covers states that a test is about some cases. A subtest that states cases of its own shows those alone when it
// fails; one that does not shows those of the test around it.
func Covers(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !Known(id) {
			t.Errorf("There is no case %q: see package lifecycle/cases.", id)
		}
		t.Attr(Attribute, id)
	}
}

// Tests returns the names of the tests in a directory that hold the ID of a case, by ID: what such a test gives to
// Covers, in itself or in a subtest.
func Tests(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("tests in %s: %w", dir, err)
	}
	tests := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("tests in %s: %w", dir, err)
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

// idsIn returns the IDs of cases among the strings in a function, each once.
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

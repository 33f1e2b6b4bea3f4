// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cases is the number of cases of the lifecycle.
const cases = 69

// writeCoverage writes the page that says which test proves each case, and
// which mutations make that test fail.
func writeCoverage(root, page string, ms []mutation, results map[string][]string) error {
	tests, err := lifecycleTests(filepath.Join(root, "lifecycle"))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Lifecycle coverage\n\nWritten by `go run ./hack/mutations`, which builds in each defect and runs the tests of the cases listed\nfor it. " +
		"Every defect below made a test of each case fail that it stands beside.\n\n| case | tests | defects found |\n|---|---|---|\n")
	for number := 1; number <= cases; number++ {
		of := slices.DeleteFunc(slices.Clone(tests), func(test string) bool { return !caseOf(number).MatchString(test) })
		var found []string
		for _, m := range ms {
			if slices.Contains(m.Cases, number) && slices.ContainsFunc(results[m.Name], func(test string) bool { return proves(test, number) }) {
				found = append(found, m.Name)
			}
		}
		if len(of) == 0 || len(found) == 0 {
			return fmt.Errorf("case %d has %d tests, which find %d mutations: it needs both", number, len(of), len(found))
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", number, strings.Join(of, "<br>"), strings.Join(found, "<br>"))
	}
	return os.WriteFile(filepath.Join(root, page), []byte(b.String()), 0o644) //nolint:gosec // a page of the documentation
}

// lifecycleTests are the names of the tests in a directory.
func lifecycleTests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("tests of the lifecycle: %w", err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("tests of the lifecycle: %w", err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "TestCase") {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// writeCoverage writes the page that says which test proves each case, and
// which mutations make that test fail.
func writeCoverage(root, page string, ms []mutation, results map[string]outcome) error {
	tests, err := cases.Tests(filepath.Join(root, "lifecycle"))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Lifecycle coverage\n\nWritten by `go run ./hack/mutations`, which builds in each defect and runs the tests of the cases listed\nfor it. " +
		"Every defect below made a test of each case fail that it stands beside. The cases are those of\n" +
		"package lifecycle/cases; sections are those of KEP-1979.\n\n| case | what must be so | section | tests | defects found |\n|---|---|---|---|---|\n")
	for _, c := range cases.All() {
		var found []string
		for _, m := range ms {
			if slices.Contains(m.Cases, c.ID) && slices.Contains(results[m.Name].Cases, c.ID) {
				found = append(found, m.Name)
			}
		}
		if len(tests[c.ID]) == 0 || len(found) == 0 {
			return fmt.Errorf("case %s has %d tests, which find %d mutations: it needs both", c.ID, len(tests[c.ID]), len(found))
		}
		section, err := sectionOf(root, c)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Sentence, section, strings.Join(tests[c.ID], "<br>"), strings.Join(found, "<br>"))
	}
	return os.WriteFile(filepath.Join(root, page), []byte(b.String()), 0o644) //nolint:gosec // a page of the documentation
}

// sectionOf returns the KEP's section of a case, and a link to the record that
// settles what it leaves open.
func sectionOf(root string, c cases.Case) (string, error) {
	if c.Decision == "" {
		return c.Section, nil
	}
	records, err := filepath.Glob(filepath.Join(root, "docs", "adr", c.Decision+"-*.md"))
	if err != nil || len(records) != 1 {
		return "", fmt.Errorf("case %s: there is no record %s in docs/adr", c.ID, c.Decision)
	}
	return fmt.Sprintf("%s ([%s](../adr/%s))", c.Section, c.Decision, filepath.Base(records[0])), nil
}

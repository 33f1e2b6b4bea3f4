// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// columns ends the head of the page's table.
const columns = "|---|---|---|---|---|\n"

// coverageOf returns the page that says which test proves each case, and which
// defects make that test fail. A case that no defect was found for has no row.
func coverageOf(root string, ds []defect, results map[string]outcome) (string, error) {
	tests, err := cases.Tests(filepath.Join(root, "lifecycle"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Lifecycle coverage\n\nWritten by `go run ./hack/mutations`, which builds in each defect and runs the tests of the cases listed\nfor it. " +
		"Every defect below made a test of each case fail that it stands beside. The cases are those of\n" +
		"package lifecycle/cases; sections are those of KEP-1979.\n\n| case | what must be so | section | tests | defects found |\n" + columns)
	for _, c := range cases.All() {
		var found []string
		for _, d := range ds {
			if slices.Contains(d.Cases, c.ID) && slices.Contains(results[d.Name].Cases, c.ID) {
				found = append(found, d.Name)
			}
		}
		if len(found) == 0 {
			continue
		}
		section, err := sectionOf(root, c)
		if err != nil {
			return "", err
		}
		names := slices.Sorted(slices.Values(tests[c.ID]))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Sentence, section, strings.Join(names, "<br>"), strings.Join(found, "<br>"))
	}
	return b.String(), nil
}

// shownOn returns the results that a page shows: of each defect the cases that it
// stands beside.
func shownOn(page string) map[string]outcome {
	results := map[string]outcome{}
	_, table, _ := strings.Cut(page, columns)
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |\n"), " | ")
		for name := range strings.SplitSeq(cells[len(cells)-1], "<br>") {
			results[name] = outcome{Cases: append(results[name].Cases, cells[0])}
		}
	}
	return results
}

// writeCoverage writes the page. Of defects that were not tried it keeps what it
// shows, unless the run was a whole one.
func writeCoverage(root, page string, ds []defect, results map[string]outcome, whole bool) error {
	path := filepath.Join(root, page)
	if !whole {
		old, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("page to update: %w", err)
		}
		shown := shownOn(string(old))
		maps.Copy(shown, results)
		results = shown
	}
	text, err := coverageOf(root, ds, results)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page of the documentation
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

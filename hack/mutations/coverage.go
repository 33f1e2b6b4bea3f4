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

// columns is the last line of the table's header.
const columns = "|---|---|---|---|---|\n"

// coverageOf returns the page that lists the tests of each case, and the defect that makes one of them fail,
// if the case has one and a run detected it.
func coverageOf(root string, ds []defect, results map[string]outcome) (string, error) {
	tests, err := cases.Tests(filepath.Join(root, "lifecycle"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Lifecycle coverage\n\nWritten by `go run ./hack/mutations`, which applies each defect and runs the tests of its cases. Each listed defect\n" +
		"made a test of its case fail. A case has at most one defect, and none if a defect of another case breaks the same code.\n" +
		"The cases are from package lifecycle/cases, and the sections from KEP-1979.\n\n| case | rule | section | tests | defect |\n" + columns)
	for _, c := range cases.All() {
		var found string
		for _, d := range ds {
			if slices.Contains(d.Cases, c.ID) && slices.Contains(results[d.Name].Cases, c.ID) {
				found = d.Name
			}
		}
		section, err := sectionOf(root, c)
		if err != nil {
			return "", err
		}
		names := slices.Sorted(slices.Values(tests[c.ID]))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Sentence, section, strings.Join(names, "<br>"), found)
	}
	return b.String(), nil
}

// shownOn returns the results that a page shows: the cases of each defect.
func shownOn(page string) map[string]outcome {
	results := map[string]outcome{}
	_, table, _ := strings.Cut(page, columns)
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |\n"), " | ")
		if name := cells[len(cells)-1]; name != "" {
			results[name] = outcome{Cases: append(results[name].Cases, cells[0])}
		}
	}
	return results
}

// writeCoverage writes the page. Unless the run tried all defects, it keeps what the page
// shows of those that were not tried. A deleted defect disappears from the page.
func writeCoverage(root, page string, ds []defect, results map[string]outcome, whole bool) error {
	path := filepath.Join(root, page)
	if !whole {
		old, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the page to update: %w", err)
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

// sectionOf returns the KEP section of a case, with a link to the record that decides what the section leaves
// open.
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

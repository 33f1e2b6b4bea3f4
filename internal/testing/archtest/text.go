// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// An explanation describes a reference that a reader cannot look up.
type explanation struct {
	// hints are substrings, one of which is in each reference. They make the search cheap.
	hints []string
	what  *regexp.Regexp
	// instead is the suggested replacement.
	instead string
}

// unexplained are references to lists that are not in the repository.
var unexplained = []explanation{
	{decisions(), regexp.MustCompile(`\b[AB]\d{1,2}\b`), "the ADR (docs/adr)"},
	{[]string{"ase ", "ases "}, regexp.MustCompile(`\b[Cc]ases? \d+\b`), "the ID of the case (lifecycle/cases, sanity) or its requirement"},
	{[]string{"KEP:"}, regexp.MustCompile(`\bKEP:\d+\b`), "the title of the section"},
	{[]string{"\u00a7"}, regexp.MustCompile(`\x{00a7}`), "the title of the section"},
	{[]string{"ssue "}, regexp.MustCompile(`\b[Ii]ssue #?\d+\b`), "its subject or its URL"},
	{[]string{"esign "}, regexp.MustCompile(`\b[Dd]esign (note|doc|document)s?\b`), "the ADR (docs/adr)"},
}

// decisions returns the possible prefixes of the number of a decision.
func decisions() []string {
	var all []string
	for _, letter := range "AB" {
		for digit := range 10 {
			all = append(all, fmt.Sprintf("%c%d", letter, digit))
		}
	}
	return all
}

// pageName matches the name of a page, with the path before it.
var pageName = regexp.MustCompile(`[\w./:%#?=&-]*\b[\w-]+\.md\b`)

// aPage is the page name that tests of pages use.
const aPage = "page.md"

// Text checks that readers can look up the references in a text file. name is the path of the file in the module, and
// pages has the file names of all pages of the repository.
func Text(name string, text []byte, pages map[string]bool) []Violation {
	var found []Violation
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if isSwitch := strings.HasPrefix(strings.TrimSpace(line), "case "); isSwitch && path.Ext(name) == ".go" {
			continue
		}
		for _, u := range unexplained {
			if !slices.ContainsFunc(u.hints, func(hint string) bool { return strings.Contains(line, hint) }) {
				continue
			}
			if cited := u.what.FindString(line); cited != "" {
				found = append(found, Violation(fmt.Sprintf("%s:%d: the repository does not explain %q: cite %s", name, number, cited, u.instead)))
			}
		}
		if !strings.Contains(line, ".md") {
			continue
		}
		for _, cited := range pageName.FindAllString(line, -1) {
			base := path.Base(cited)
			if isSuffix := strings.HasPrefix(base, "-"); isSuffix || base == aPage || strings.Contains(cited, "://") {
				continue
			}
			if !pages[base] {
				found = append(found, Violation(fmt.Sprintf("%s:%d: there is no page %s: cite a public document by its title or URL", name, number, cited)))
			}
		}
	}
	return found
}

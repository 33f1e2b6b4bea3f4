// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReferencesCanBeLookedUp(t *testing.T) {
	t.Parallel()
	texts, pages := map[string][]byte{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "dist", ".cooper"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(content, 0) >= 0 || entry.Name() == "go.sum" {
			return err
		}
		texts[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = content
		if filepath.Ext(path) == ".md" {
			pages[entry.Name()] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) == 0 {
		t.Fatal("the repository has no pages")
	}
	for name, text := range texts {
		report(t, Text(name, text, pages))
	}
}

func TestTextFindsSeededViolations(t *testing.T) {
	t.Parallel()
	// The references are split into parts, because this file is checked as well.
	for name, tc := range map[string]struct{ file, text, want string }{
		"a case by its number":              {"a_test.go", "// Case" + " 17: name of the Bucket.\n", "the ID of the case"},
		"cases by their numbers":            {"README" + ".md", "See cases" + " 3 and 4.\n", "the ID of the case"},
		"a case in the text of a test":      {"a_test.go", "\t\t\"case" + " 10: an empty ID\": {},\n", "the ID of the case"},
		"a branch of a switch is no case":   {"a.go", "\tcase 17:\n", ""},
		"a decision by its number":          {"deploy/a.yaml", "# the writes of B" + "23\n", "a.yaml:1: the repository does not explain \"B" + "23\""},
		"another decision, on line 2":       {"hack/a.sh", "\n# A" + "46: the claim was deleted\n", "a.sh:2"},
		"a longer word is no decision":      {"a.go", "// SHA256, A4Z, B64A, BA12 and A123\n", ""},
		"a line of the KEP":                 {"a.go", "// as required (KEP" + ":650)\n", "the title of the section"},
		"a paragraph by its sign":           {"a.go", "// see \u00a7" + "4.2\n", "the title of the section"},
		"an issue by its number":            {"a.go", "// as issue" + " #12 asks\n", "its subject or its URL"},
		"a document outside the repository": {"a.go", "// as the design" + " notes say\n", "the ADR"},
		"a decision record":                 {"a.go", "// why: docs/adr/0009-binding" + ".md\n", ""},
		"a page that does not exist":        {"a.go", "// as design/notes" + ".md describes\n", "there is no page design/notes" + ".md"},
		"the end of a name":                 {"a.go", "path := kind + \"-driver.md\"\n", ""},
		"a public page by its URL":          {"a.go", "// https://example.com/community/api-rules.md#objects\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, Text(tc.file, []byte(tc.text), map[string]bool{"0009-binding" + ".md": true}), tc.want)
		})
	}
}

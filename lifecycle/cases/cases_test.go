// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	seen, form := map[string]bool{}, regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, c := range All() {
		if seen[c.ID] || !form.MatchString(c.ID) {
			t.Errorf("the ID %q is not lower-case words with hyphens, or is there twice", c.ID)
		}
		seen[c.ID] = true
		if first := c.Sentence[:1]; first != strings.ToUpper(first) || !strings.HasSuffix(c.Sentence, ".") {
			t.Errorf("%s: %q is no sentence", c.ID, c.Sentence)
		}
		if c.Section == "" {
			t.Errorf("%s names no section of the KEP", c.ID)
		}
		if found, err := filepath.Glob("../../docs/adr/" + c.Decision + "-*.md"); c.Decision != "" && (err != nil || len(found) != 1) {
			t.Errorf("%s: there is no decision record %s", c.ID, c.Decision)
		}
	}
}

func TestTestsAreFoundByTheIDsInThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const source = `package p

func TestOne(t *testing.T) {
	cases.Covers(t, "bucket-name", "bucket-info")
	for name, id := range map[string]string{"a name": "bucket-lost"} {
		t.Run(name, func(t *testing.T) { cases.Covers(t, id) })
	}
}

func TestTwo(t *testing.T) { cases.Covers(t, "bucket-name") }

func helper(t *testing.T) { cases.Covers(t, "bucket-exists") }
`
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Tests(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"bucket-name": {"TestOne", "TestTwo"}, "bucket-info": {"TestOne"}, "bucket-lost": {"TestOne"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tests by case (-want, +got):\n%s", diff)
	}
}

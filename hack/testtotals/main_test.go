// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunCountsARealRun runs go test itself on small modules, so that a change
// of its event format is noticed here.
func TestRunCountsARealRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source  string
		want    []string // lines of the output
		without string
		last    string
		err     error
	}{
		"a passing run is quiet but for go test's closing line and the totals": {
			source: `
				func TestOne(t *testing.T) { t.Log("chatter") }
				func TestTwo(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Log("chatter") }) }`,
			want:    []string{"ok  \texample.test/m"},
			without: "chatter",
			last:    "3 passed, 0 failed, 0 skipped",
		},
		"a failing test's output is shown, a passing one's is not": {
			source: `
				func TestGood(t *testing.T) { t.Log("chatter") }
				func TestBad(t *testing.T) { t.Error("the bucket is gone") }`,
			want:    []string{"the bucket is gone", "--- FAIL: TestBad", "FAIL\texample.test/m"},
			without: "chatter",
			last:    "1 passed, 1 failed, 0 skipped",
			err:     errFailed,
		},
		"a skip is counted and its reason is listed": {
			source: `
				func TestContainer(t *testing.T) { t.Skip("Docker does not answer: no socket") }`,
			want: []string{"skipped 1: Docker does not answer: no socket", "example.test/m.TestContainer"},
			last: "0 passed, 0 failed, 1 skipped",
		},
		"a package that does not build counts as failed and shows the compiler's words": {
			source: `func TestBad(t *testing.T) { undefinedName() }`,
			want:   []string{"undefined: undefinedName", "FAIL\texample.test/m [build failed]"},
			last:   "0 passed, 1 failed, 0 skipped",
			err:    errFailed,
		},
		"a test that is cut off by the death of its process counts as failed": {
			source: `
				func TestGood(t *testing.T) {}
				func TestDies(t *testing.T) { println("last words"); os.Exit(3) }`,
			want: []string{"last words", "FAIL\texample.test/m"},
			last: "1 passed, 1 failed, 0 skipped",
			err:  errFailed,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, tc.source)
			var out, stderr bytes.Buffer
			err := run(t.Context(), []string{"--dir", dir, "--", "./..."}, &out, &stderr)
			if !errors.Is(err, tc.err) {
				t.Errorf("error: want %v, got %v; stderr:\n%s", tc.err, err, &stderr)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
			if tc.without != "" && strings.Contains(out.String(), tc.without) {
				t.Errorf("the output holds %q:\n%s", tc.without, out.String())
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != tc.last {
				t.Errorf("last line: want %q, got %q", tc.last, last)
			}
		})
	}
}

// module writes a module with one test file and returns its directory.
func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":    "module example.test/m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n" + source,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTallyShowsATestThatPassesIfAsked(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tally := newTally(&out, nil)
	tally.show = []string{"TestStack"}
	for _, name := range []string{"TestStack", "TestOther"} {
		tally.Line([]byte(`{"Action":"output","Package":"p","Test":"` + name + `","Output":"steps of ` + name + `\n"}`))
		tally.Line([]byte(`{"Action":"pass","Package":"p","Test":"` + name + `"}`))
	}
	tally.Line([]byte(`{"Action":"pass","Package":"p","Elapsed":1}`))
	if got := out.String(); got != "steps of TestStack\n" {
		t.Errorf("want the steps of TestStack alone, got:\n%s", got)
	}
}

func TestTallyShowsOnlyTheEndOfALongFailure(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tally := newTally(&out, nil)
	for range maxLines + 10 {
		tally.Line([]byte(`{"Action":"output","Package":"p","Test":"T","Output":"line\n"}`))
	}
	tally.Line([]byte(`{"Action":"output","Package":"p","Test":"T","Output":"the cause\n"}`))
	tally.Line([]byte(`{"Action":"fail","Package":"p","Test":"T"}`))
	tally.Line([]byte(`{"Action":"fail","Package":"p","Elapsed":1}`))
	if got := out.String(); !strings.Contains(got, "earlier lines are not shown") || !strings.HasSuffix(got, "the cause\n") {
		t.Errorf("want a cut at the start and the cause at the end, got:\n%s", got)
	}
	if got := strings.Count(out.String(), "line\n"); got >= maxLines {
		t.Errorf("want fewer than %d lines, got %d", maxLines, got)
	}
}

func TestPartOf(t *testing.T) {
	t.Parallel()
	parts, err := parseParts([]string{"lifecycle=controller,sidecar", "conformance=sanity"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ path, want string }{
		"the directory itself":               {"example.test/m/controller", "lifecycle"},
		"a package below it":                 {"example.test/m/sidecar/internal/bucket", "lifecycle"},
		"another part":                       {"example.test/m/sanity/sanitytest", "conformance"},
		"a longer name is another directory": {"example.test/m/controllers", restPart},
		"no part":                            {"example.test/m/proto", restPart},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := partOf(parts, tc.path); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	for _, bad := range []string{"controller", "=controller", "lifecycle="} {
		if _, err := parseParts([]string{bad}); err == nil {
			t.Errorf("parseParts(%q): want an error", bad)
		}
	}
}

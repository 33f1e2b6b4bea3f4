// SPDX-License-Identifier: Apache-2.0

// Package totals_test runs go test on small packages, and totals.awk on what it says.
package totals_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTotals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ says, source, want string }{ // by the name of a package
		"good": {
			says: "tests and subtests that pass",
			source: `
				func TestOne(t *testing.T) { t.Log("chatter") }
				func TestTwo(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Log("chatter") }) }`,
			want: "3 passed, 0 failed, 0 skipped\n",
		},
		"bad": {
			says: "a test that fails",
			source: `
				func TestGood(t *testing.T) {}
				func TestBad(t *testing.T) { t.Error("the bucket is gone") }`,
			want: "1 passed, 1 failed, 0 skipped\n",
		},
		"skips": {
			says: "a skipped test and its reason",
			source: `
				func TestContainer(t *testing.T) { t.Log("asked"); t.Skip("Docker does not respond: \"<no socket>\"") }`,
			want: "skipped 1: Docker does not respond: \"<no socket>\"\n0 passed, 0 failed, 1 skipped\n",
		},
		"leaves": {
			says: "what is left to the full run is not skipped",
			source: `
				func TestLong(t *testing.T) { t.Skip("left to make test-full: it takes long") }
				func TestSample(t *testing.T) { t.Log("2 of 3 are left to make test-full") }`,
			want: "left to make test-full: 2 tests (leaves 2)\n1 passed, 0 failed, 0 skipped\n",
		},
		"broken": {
			says:   "a package that does not build",
			source: `func TestBad(t *testing.T) { undefinedName() }`,
			want:   "0 passed, 1 failed, 0 skipped\n",
		},
		"dies": {
			says: "a test that is cut off by the death of its process",
			source: `
				func TestGood(t *testing.T) {}
				func TestDies(t *testing.T) { println("last words"); os.Exit(3) }`,
			want: "1 passed, 1 failed, 0 skipped\n",
		},
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.test/cooper/cooper\n\ngo 1.26\n")
	for name, tc := range tests {
		write(t, filepath.Join(dir, name, "m_test.go"), "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n"+tc.source)
	}
	goTest := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "./...")
	goTest.Dir = dir
	events, _ := goTest.Output() // it fails when a test does
	for name, tc := range tests {
		t.Run(tc.says, func(t *testing.T) {
			t.Parallel()
			var own strings.Builder
			for event := range strings.Lines(string(events)) {
				if strings.Contains(event, `"Package":"example.test/cooper/cooper/`+name+`"`) {
					own.WriteString(event)
				}
			}
			awk := exec.CommandContext(t.Context(), "awk", "-f", "totals.awk")
			awk.Stdin = strings.NewReader(own.String())
			got, err := awk.CombinedOutput()
			if err != nil {
				t.Errorf("awk: %v", err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s\nof:\n%s", diff, own.String())
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLeft runs, of a package, only what a list names, whatever characters are in its names, by the test binary of the
// run before.
func TestLeft(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list := filepath.Join(dir, "left")
	if err := os.Mkdir(list+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, list, strings.Join([]string{dir + "\tTestOne/a_(b)|c/d", dir + "\tTestTwo", dir + "\tTestTwo/both", "/elsewhere\tTestThree", ""}, "\n"))
	write(t, filepath.Join(dir, "go.mod"), "module example.test/m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m_test.go"), `package m

import "testing"

func pass(*testing.T) {}

func TestOne(t *testing.T) {
	for _, name := range []string{"a (b)|c/d", "a", "c"} {
		t.Run(name, pass)
	}
}

func TestTwo(t *testing.T) { t.Run("both", pass); t.Run("other", pass) }

func TestThree(*testing.T) {}

func TestFour(t *testing.T) { t.Fail() }
`)
	output := func(name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "COOPER_LEFT="+list)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, output)
		}
		return output
	}
	output("go", "test", "-vet=off", "-run", "^$", "-exec", filepath.Join(scripts, "keep.sh"), ".")
	got := output(filepath.Join(scripts, "rest.sh"), "2", "1m", dir)
	var ran []string
	for line := range bytes.Lines(got) {
		var event struct{ Action, Package, Test string }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if event.Action == "pass" {
			ran = append(ran, event.Package+" "+event.Test)
		}
	}
	slices.Sort(ran)
	want := []string{
		"example.test/m ", "example.test/m TestOne", "example.test/m TestOne/a_(b)|c/d", "example.test/m TestTwo", "example.test/m TestTwo/both",
		"example.test/m TestTwo/other",
	}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("(-want +got):\n%s\nof:\n%s", diff, got)
	}
	write(t, list, dir+"\tTestFour\n")
	failing := exec.CommandContext(t.Context(), filepath.Join(scripts, "rest.sh"), "2", "1m", dir)
	failing.Dir, failing.Env = dir, append(os.Environ(), "COOPER_LEFT="+list)
	if got, err := failing.Output(); err == nil || !strings.Contains(string(got), `"Action":"fail","Package":"example.test/m","Test":"TestFour"`) {
		t.Errorf("a test that fails: %v\n%s", err, got)
	}
}

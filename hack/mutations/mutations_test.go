// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// TestEveryDefectFitsTheCode fails when a patch no longer applies to the code, and when
// its header names a test or a flow that does not exist.
func TestEveryDefectFitsTheCode(t *testing.T) {
	t.Parallel()
	ds, err := all("../..")
	if err != nil {
		t.Fatal(err)
	}
	flows, err := os.ReadFile("../../lifecycle/flows_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range ds {
		if names[d.Name] {
			t.Errorf("two defects are called %q", d.Name)
		}
		names[d.Name] = true
		if err := d.apply(t.Context(), "../..", t.TempDir()); err != nil {
			t.Error(err)
		}
		if d.Crash != "" && !bytes.Contains(flows, []byte(strconv.Quote(d.Crash))) {
			t.Errorf("%s: there is no flow %q in lifecycle/flows_test.go", d.patch, d.Crash)
		}
		if name, _, _ := strings.Cut(d.Test, "/"); name != "" && !hasTest(t, d.Package, name) {
			t.Errorf("%s: there is no %s in %s", d.patch, name, d.Package)
		}
	}
}

// TestDefectBudget fails when two defects name one case, and when too many defects name
// no case: each defect costs minutes to run and a repair when the code around it changes.
func TestDefectBudget(t *testing.T) {
	t.Parallel()
	const maxWithTest = 20
	ds, err := all("../..")
	if err != nil {
		t.Fatal(err)
	}
	withTest, patchOf := 0, map[string]string{}
	for _, d := range ds {
		if d.Test != "" {
			withTest++
		}
		for _, id := range d.Cases {
			if patchOf[id] != "" {
				t.Errorf("case %s has two defects, %s and %s; keep one", id, patchOf[id], d.patch)
			}
			patchOf[id] = d.patch
		}
	}
	if withTest > maxWithTest {
		t.Errorf("%d defects have the header Test; at most %d may", withTest, maxWithTest)
	}
}

func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	tests, err := cases.Tests("../../lifecycle")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases.All() {
		if tests[c.ID] == nil {
			t.Errorf("no test in lifecycle covers case %s", c.ID)
		}
	}
}

// hasTest reports whether a package has a test of that name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && bytes.Contains(source, []byte("func "+name+"("))
	})
}

// TestThePageShowsEveryDefect fails when a case or a defect was added, deleted or renamed
// and the page was not updated.
func TestThePageShowsEveryDefect(t *testing.T) {
	t.Parallel()
	const root, page = "../..", "docs/reference/lifecycle-coverage.md"
	ds, err := all(root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]outcome{}
	for _, d := range ds {
		found[d.Name] = outcome{Cases: d.Cases}
	}
	want, err := coverageOf(root, ds, found)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s is out of date; run the missing defects with go run ./hack/mutations -only 'one defect|another', which updates it (-want, +got):\n%s", page, diff)
	}
}

// TestAPageIsReadAsItIsWritten checks that a run of some defects keeps the results of the others.
func TestAPageIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	want := map[string]outcome{"one": {Cases: []string{"bucket-name", "metrics"}}, "two": {Cases: []string{"events"}}}
	page, err := coverageOf("../..", []defect{
		{Name: "one", Cases: want["one"].Cases}, {Name: "two", Cases: want["two"].Cases}, {Name: "not found", Cases: []string{"retain"}},
	}, want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, shownOn(page)); diff != "" {
		t.Errorf("results that the page shows (-want, +got):\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, ran := parse([]byte(`{"Action":"run","Test":"TestX"}
{"Action":"attr","Test":"TestX","Key":"case","Value":"first"}
{"Action":"attr","Test":"TestX","Key":"case","Value":"second"}
{"Action":"run","Test":"TestX/a"}
{"Action":"run","Test":"TestX/b"}
{"Action":"attr","Test":"TestX/b","Key":"case","Value":"third"}
{"Action":"attr","Test":"TestX/b","Key":"other","Value":"x"}
{"Action":"run","Test":"TestY"}
{"Action":"attr","Test":"TestY","Key":"case","Value":"fourth"}
{"Action":"run","Test":"TestZ"}
{"Action":"attr","Test":"TestZ","Key":"case","Value":"fifth"}
not json
{"Action":"fail","Test":"TestX/b/c"}
{"Action":"fail","Test":"TestX"}
{"Action":"fail","Test":"TestY"}
{"Action":"pass","Test":"TestZ"}
{"Action":"fail"}
`))
	if want := (outcome{Failed: []string{"TestX/b/c", "TestY"}, Cases: []string{"fourth", "third"}}); ran != 3 || !cmp.Equal(got, want) {
		t.Errorf("got %v of %d, want %v", got, ran, want)
	}
}

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

// TestEveryDefectFitsTheCode fails when code changed under a defect, and when
// a case has no defect or no test.
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
	covered, names := map[string]bool{}, map[string]bool{}
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
		for _, id := range d.Cases {
			covered[id] = true
		}
		if name, _, _ := strings.Cut(d.Test, "/"); name != "" && !hasTest(t, d.Package, name) {
			t.Errorf("%s: there is no %s in %s", d.patch, name, d.Package)
		}
	}
	for _, c := range cases.All() {
		if !covered[c.ID] {
			t.Errorf("no defect is listed for case %s", c.ID)
		}
	}
	if _, err := patternsOf("../..", ds); err != nil {
		t.Error(err)
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

// TestThePageShowsEveryDefect fails when a case or a defect came, went or was called
// something else, and the page was not written since.
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
		t.Errorf("%s is not what the code says; go run ./hack/mutations -only 'one defect|another' tries these and writes it (-want, +got):\n%s", page, diff)
	}
}

// TestAPageIsReadAsItIsWritten guards what a run of some defects keeps of the others.
func TestAPageIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	want := map[string]outcome{"one": {Cases: []string{"bucket-name", "metrics"}}, "two": {Cases: []string{"metrics"}}}
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

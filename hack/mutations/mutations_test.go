// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// TestEveryMutationFitsTheCode fails when code changed under a mutation, and when
// a case has no mutation or no test.
func TestEveryMutationFitsTheCode(t *testing.T) {
	t.Parallel()
	ms, err := all("../..")
	if err != nil {
		t.Fatal(err)
	}
	flows, err := os.ReadFile("../../lifecycle/flows_test.go")
	if err != nil {
		t.Fatal(err)
	}
	covered, names := map[string]bool{}, map[string]bool{}
	for _, m := range ms {
		if names[m.Name] {
			t.Errorf("two mutations are called %q", m.Name)
		}
		names[m.Name] = true
		if err := m.apply(t.Context(), "../..", t.TempDir()); err != nil {
			t.Error(err)
		}
		if m.Crash != "" && !bytes.Contains(flows, []byte(strconv.Quote(m.Crash))) {
			t.Errorf("%s: there is no flow %q in lifecycle/flows_test.go", m.patch, m.Crash)
		}
		for _, id := range m.Cases {
			covered[id] = true
		}
	}
	for _, c := range cases.All() {
		if !covered[c.ID] {
			t.Errorf("no mutation is listed for case %s", c.ID)
		}
	}
	if _, err := patternsOf("../..", ms); err != nil {
		t.Error(err)
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

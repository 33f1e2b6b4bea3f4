// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

// TestEveryMutationFitsTheCode fails when code changed under a mutation, and
// when a case has none.
func TestEveryMutationFitsTheCode(t *testing.T) {
	t.Parallel()
	ms, err := all("../..")
	if err != nil {
		t.Fatal(err)
	}
	covered, names := map[int]bool{}, map[string]bool{}
	for _, m := range ms {
		if names[m.Name] {
			t.Errorf("two mutations are called %q", m.Name)
		}
		names[m.Name] = true
		if err := m.apply(t.Context(), "../..", t.TempDir()); err != nil {
			t.Error(err)
		}
		for _, number := range m.Cases {
			covered[number] = true
		}
	}
	for number := 1; number <= cases; number++ {
		if !covered[number] {
			t.Errorf("no mutation is listed for case %d", number)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	failed, ran := parse([]byte(`{"Action":"run","Test":"TestCase07_08_x"}
{"Action":"run","Test":"TestCase07_08_x/case_7:_one"}
{"Action":"run","Test":"TestCase09_y"}
not json
{"Action":"fail","Test":"TestCase07_08_x/case_7:_one"}
{"Action":"fail","Test":"TestCase07_08_x"}
{"Action":"fail","Test":"TestCase09_y"}
{"Action":"fail"}
`))
	if want := []string{"TestCase07_08_x/case_7:_one", "TestCase09_y"}; ran != 2 || !slices.Equal(failed, want) {
		t.Errorf("got %v of %d", failed, ran)
	}
}

// TestProves says what a test that failed shows: a subtest that names its case
// shows nothing about the other cases of its test.
func TestProves(t *testing.T) {
	t.Parallel()
	for failed, want := range map[string][]int{
		"TestCase07_08_x":               {7, 8},
		"TestCase07_08_x/policy_Delete": {7, 8},
		"TestCase07_08_x/case_8:_one":   {8},
		"TestCase70_x":                  {70},
		"TestCrash/flows/a_claim":       nil,
	} {
		for _, number := range []int{7, 8, 70} {
			if got := proves(failed, number); got != slices.Contains(want, number) {
				t.Errorf("%s proves case %d: %v", failed, number, got)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
)

// TestEveryMutationFitsTheCode fails when code changed under a mutation, and
// when a case has none.
func TestEveryMutationFitsTheCode(t *testing.T) {
	t.Parallel()
	covered, names := map[int]bool{}, map[string]bool{}
	for _, m := range all() {
		if names[m.Name] {
			t.Errorf("two mutations are called %q", m.Name)
		}
		names[m.Name] = true
		if _, err := m.apply("../.."); err != nil {
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
	failed, ran := parse([]byte(`{"Action":"run","Test":"TestCase07_x"}
{"Action":"run","Test":"TestCase07_x/sub"}
not json
{"Action":"fail","Test":"TestCase07_x/sub"}
{"Action":"fail","Test":"TestCase07_x"}
{"Action":"fail"}
`))
	if ran != 1 || len(failed) != 1 || !caseOf(7).MatchString(failed[0]) || caseOf(8).MatchString(failed[0]) {
		t.Errorf("got %v of %d", failed, ran)
	}
}

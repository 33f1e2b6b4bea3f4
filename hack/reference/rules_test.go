// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestRulesPage fails when a rule names a test or a case that does not exist, or the page is out of date.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	want, err := rulesPage(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(root + "/docs/reference/rules.md")
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("docs/reference/rules.md is not current, %v (-want +got):\n%s\ngo generate ./hack/reference writes it", err, diff)
	}
}

func TestOutcomeOfARule(t *testing.T) {
	t.Parallel()
	known, err := proofsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		rule      rule
		want, err string
	}{
		"a case, a sanity case, a manifest and a test": {
			rule: rule{Level: "MUST", Proof: []string{"case retain", "sanity LIF-001", "manifest bucket/imported", "manifest bucket/bucket_id_set", "TestRulesPage in hack/reference"}},
			want: "retain<br>LIF-001<br>bucket/imported<br>bucket/bucket_id_set<br>TestRulesPage in hack/reference",
		},
		"a document that is later":         {rule: rule{Level: "SHALL", Superseded: "KEP-1979"}, want: "superseded by KEP-1979"},
		"a partly proven rule":             {rule: rule{Level: "SHOULD NOT", Proof: []string{"case retain"}, Open: "a | b"}, want: `retain<br>**open:** a \| b`},
		"nothing":                          {rule: rule{Level: "MUST"}, err: "the rule needs a proof"},
		"a step":                           {rule: rule{Step: "2.10", Because: "x"}, want: "nothing to prove: x"},
		"a step without a number":          {rule: rule{Step: "2.", Because: "x"}, want: "nothing to prove: x", err: "the step"},
		"a level that is none":             {rule: rule{Level: "MAY", Because: "x"}, want: "nothing to prove: x", err: "the level"},
		"a test that does not exist":       {rule: rule{Level: "MUST", Proof: []string{"TestRulesOfNobody in hack/reference"}}, err: "proof does not exist: TestRulesOfNobody"},
		"a test of another directory":      {rule: rule{Level: "MUST", Proof: []string{"TestRulesPage in lifecycle"}}, err: "proof does not exist: TestRulesPage"},
		"a test that is a part of another": {rule: rule{Level: "MUST", Proof: []string{"TestRules in hack/reference"}}, err: "proof does not exist: TestRules "},
		"a case without a test":            {rule: rule{Level: "MUST", Proof: []string{"case nobody"}}, err: "proof does not exist: case nobody"},
		"a case of the suite that is none": {rule: rule{Level: "MUST", Proof: []string{"sanity LIF-999"}}, err: "proof does not exist: sanity"},
		"advice is no rule":                {rule: rule{Level: "MUST", Proof: []string{"sanity LIF-006"}}, err: "proof does not exist: sanity LIF-006"},
		"a manifest that does not exist":   {rule: rule{Level: "MUST", Proof: []string{"manifest bucket/none"}}, err: "proof does not exist: manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.rule.outcome(known)
			if tc.err == "" && (err != nil || got != tc.want) {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v, want an error with %q", err, tc.err)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
)

const (
	assignments = "Microsoft.Authorization/roleAssignments"
	kind        = "@Request[" + assignments + ":PrincipalType]"
	role        = "@Resource[" + assignments + ":RoleDefinitionId]"
	reader      = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	about := access.Attributes{kind: "ServicePrincipal"}
	const (
		writes, deletes = "ActionMatches{'" + assignments + "/write'}", "ActionMatches{'" + assignments + "/delete'}"
		isUser, isOther = kind + " ForAnyOfAnyValues:StringEqualsIgnoreCase {'User', 'Group'}", kind + " ForAnyOfAnyValues:StringEqualsIgnoreCase {'Group','servicePRINCIPAL'}"
		isReader        = role + " ForAnyOfAnyValues:GuidEquals {" + reader + "}"
	)
	for name, test := range map[string]struct {
		condition string
		want      bool
		problem   string
	}{
		"the action":                         {writes, true, ""},
		"a pattern of it":                    {"ActionMatches{'microsoft.authorization/*/WRITE'}", true, ""},
		"another action":                     {deletes, false, ""},
		"not another action":                 {"!(" + deletes + ")", true, ""},
		"twice not":                          {"!!" + deletes, false, ""},
		"any value, in any case":             {isOther, true, ""},
		"no value":                           {isUser, false, ""},
		"an attribute that is not there":     {isReader, false, ""},
		"both, of which one is so":           {writes + " AND " + isUser, false, ""},
		"both, of which both are":            {writes + " AND " + isOther + " AND !" + deletes, true, ""},
		"one, of which one is so":            {isUser + " OR\n" + writes + " OR " + deletes, true, ""},
		"parentheses":                        {"(" + deletes + " AND " + isUser + ") OR (" + writes + " AND " + isOther + ")", true, ""},
		"nothing":                            {"", false, `"" is unexpected`},
		"an open parenthesis":                {"(" + writes, false, `got "", want ")"`},
		"an open brace":                      {"ActionMatches{'a',", false, `"" is not a valid value`},
		"an open quote":                      {"ActionMatches{'a}", false, `"'" is not a valid value`},
		"no value at all":                    {"ActionMatches{}", false, `"}" is not a valid value`},
		"no braces":                          {"ActionMatches 'a'", false, `got "'a'", want "{"`},
		"two terms":                          {writes + " " + writes, false, "after the end"},
		"an operator that is not known":      {kind + " StringLike {'a'}", false, `does not support the operator "StringLike"`},
		"an attribute that is not known":     {"@Environment[UtcNow] ForAnyOfAnyValues:GuidEquals {" + reader + "}", false, "this fake does not support it"},
		"a GUID that is none":                {role + " ForAnyOfAnyValues:GuidEquals {1}", false, `"1" is not a valid value`},
		"a text that is a GUID":              {role + " ForAnyOfAnyValues:GuidEquals {'" + reader + "'}", false, "is not a valid value"},
		"both operators without parentheses": {writes + " AND " + isUser + " OR " + deletes, false, "needs parentheses"},
		"more than Azure takes":              {strings.Repeat("!", 9000) + writes, false, "more than 8192 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := access.Holds(test.condition, assignments+"/write", about)
			if test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) || test.problem == "" && err != nil || got != test.want {
				t.Errorf("%s is %v (%v), want %v (%s)", test.condition, got, err, test.want, test.problem)
			}
		})
	}
}

// FuzzHolds evaluates arbitrary conditions. Whether a condition is invalid must not depend on the attributes, and an
// invalid one must not hold. The negation of a valid one must give the opposite result.
func FuzzHolds(f *testing.F) {
	for _, condition := range []string{
		"(!(ActionMatches{'" + assignments + "/write'}) OR " + kind + " ForAnyOfAnyValues:StringEqualsIgnoreCase {'ServicePrincipal'})",
		role + " ForAnyOfAnyValues:GuidEquals {" + reader + ", " + reader + "} AND ActionMatches{'*'}",
		"((((", "!!'", "ActionMatches{'a',}", "@Request[] {}", "'", "}",
	} {
		f.Add(condition, assignments+"/write", reader)
	}
	f.Fuzz(func(t *testing.T, condition, action, value string) {
		about := access.Attributes{kind: value, role: value}
		holds, err := access.Holds(condition, action, about)
		if _, other := access.Holds(condition, "", nil); (err == nil) != (other == nil) || err != nil && holds {
			t.Fatalf("%q: %v, %v, and %v if nothing is asked", condition, holds, err, other)
		}
		opposite, again := access.Holds("!("+condition+")", action, about)
		if err == nil && again == nil && opposite == holds {
			t.Errorf("%q and its opposite are %v", condition, holds)
		}
	})
}

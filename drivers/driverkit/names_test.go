// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// rule is like that of S3, and refuses one word.
func rule() driverkit.NameRule {
	return driverkit.NameRule{
		Min: 3, Max: 63, Pattern: regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`),
		Refused: func(name string) bool { return strings.Contains(name, "reserved") },
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	hashed := regexp.MustCompile(`^(p-)?h-[a-z2-7]{32}$`)
	tests := map[string]struct {
		prefix, proposed, want string // want is empty for a hash
	}{
		"a name that the backend takes stays":               {"", "bc-1", "bc-1"},
		"the prefix comes first":                            {"p-", "bc-1", "p-bc-1"},
		"a name of the longest length stays":                {"", strings.Repeat("n", 63), strings.Repeat("n", 63)},
		"a name that is too long with its prefix is hashed": {"p-", strings.Repeat("n", 62), ""},
		"a name that is too short is hashed":                {"", "a", ""},
		"a short name with a prefix stays":                  {"p-", "a", "p-a"},
		"a name with a dot is hashed":                       {"", "a.b", ""},
		"a name that looks like a hash is hashed":           {"", "h-abc", ""},
		"a name that the backend refuses is hashed":         {"", "is-reserved", ""},
		"a name of nothing is hashed":                       {"p-", "", ""},
	}
	for test, c := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			got := rule().Fit(c.prefix, c.proposed)
			switch {
			case c.want != "" && got != c.want:
				t.Errorf("name is %q, want %q", got, c.want)
			case c.want == "" && (!hashed.MatchString(got) || !strings.HasPrefix(got, c.prefix)):
				t.Errorf("name is %q, want a hash after %q", got, c.prefix)
			}
			if !rule().Made(got) {
				t.Errorf("Made(%q) is false, but Fit made it", got)
			}
		})
	}
}

func FuzzFit(f *testing.F) {
	f.Add("a", "b")
	f.Add("h-a", strings.Repeat("n", 200))
	f.Fuzz(func(t *testing.T, one, other string) {
		if one != other && rule().Fit("", one) == rule().Fit("", other) {
			t.Errorf("%q and %q have one name", one, other)
		}
	})
}

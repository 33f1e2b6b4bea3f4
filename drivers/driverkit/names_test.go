// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

func TestBackends(t *testing.T) {
	t.Parallel()
	stores := driverkit.Backends[int]{Default: "main", ByName: map[string]int{"main": 1, "lab": 2}}
	tests := map[string]struct {
		id, name string
		backend  int
	}{
		"an ID without a backend is at the default one": {"bucket", "bucket", 1},
		"an ID with a backend is there":                 {"lab.bucket", "bucket", 2},
		"a bucket may have dots in its name":            {"www.example.com", "www.example.com", 1},
		"and so at another backend":                     {"lab.www.example.com", "www.example.com", 2},
		"a backend alone is a name":                     {"lab.", "lab.", 1},
	}
	for test, want := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if backend, name := stores.SplitID(want.id); backend != want.backend || name != want.name {
				t.Errorf("SplitID(%q) is %d, %q, want %d, %q", want.id, backend, name, want.backend, want.name)
			}
		})
	}
	if got := stores.JoinID("lab", "bucket"); got != "lab.bucket" {
		t.Errorf("JoinID is %q", got)
	}
	if got := stores.JoinID("main", "bucket"); got != "bucket" {
		t.Errorf("JoinID of the default backend is %q", got)
	}
}

func TestOfClass(t *testing.T) {
	t.Parallel()
	stores := driverkit.Backends[int]{Default: "main", ByName: map[string]int{"main": 1, "lab": 2}}
	for parameter, want := range map[string]int{"": 1, "main": 1, "lab": 2} {
		if got, err := stores.OfClass(parameter); err != nil || got != want {
			t.Errorf("OfClass(%q) is %d, %v, want %d", parameter, got, err, want)
		}
	}
	_, err := stores.OfClass("moon")
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "lab, main") {
		t.Errorf("the error of an unknown backend is %v, want InvalidArgument with the known ones", err)
	}
}

func TestCheckBackends(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stores driverkit.Backends[int]
		want   string // empty for no problem
	}{
		"one backend needs no default":            {driverkit.Backends[int]{ByName: map[string]int{"main": 1}}, ""},
		"several need one":                        {driverkit.Backends[int]{ByName: map[string]int{"main": 1, "lab": 2}}, "is needed with several backends (lab, main)"},
		"none is not enough":                      {driverkit.Backends[int]{}, "at least one is needed"},
		"the default must be one of them":         {driverkit.Backends[int]{Default: "moon", ByName: map[string]int{"main": 1}}, `"moon" is not one of the backends (main)`},
		"a name with a dot would not do in an ID": {driverkit.Backends[int]{ByName: map[string]int{"ma.in": 1}}, `the name "ma.in"`},
	}
	for test, c := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			c.stores.Default = c.stores.DefaultName()
			problems := c.stores.Check()
			if c.want == "" && len(problems) > 0 {
				t.Errorf("the problems are %v", problems)
			}
			if c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want)) {
				t.Errorf("the problems are %v, want one with %q", problems, c.want)
			}
		})
	}
}

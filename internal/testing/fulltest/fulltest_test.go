// SPDX-License-Identifier: Apache-2.0

package fulltest_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// tiers are the values of -test.short and COOPER_SOAK that select each tier.
var tiers = map[string]struct{ short, soak string }{"short": {"true", ""}, "full": {"false", ""}, "soak": {"true", "1"}}

// inTier runs the test in this tier.
func inTier(t *testing.T, tier string) {
	t.Helper()
	short := flag.Lookup("test.short").Value
	before := short.String()
	t.Cleanup(func() { _ = short.Set(before) })
	if err := short.Set(tiers[tier].short); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COOPER_SOAK", tiers[tier].soak)
}

// recorder is a test that records why it is skipped and how it fails.
type recorder struct {
	testing.TB

	name, reason, failure string
}

func (r *recorder) Name() string                      { return r.name }
func (r *recorder) Skip(args ...any)                  { r.reason = fmt.Sprint(args...) }
func (r *recorder) Errorf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

//nolint:paralleltest // it sets a flag and a variable of the process
func TestTiers(t *testing.T) {
	named := []string{"TestNamed"}
	for what, tc := range map[string]struct {
		ask  func(*recorder)
		name string
		runs []string // sorted
	}{
		"a test of the full tier":            {func(r *recorder) { fulltest.Only(r, "") }, "", []string{"full", "soak"}},
		"a test of the soak":                 {func(r *recorder) { fulltest.Long(r, "") }, "", []string{"soak"}},
		"a test that is named":               {func(r *recorder) { fulltest.Named(r, named) }, "TestNamed", []string{"full", "short", "soak"}},
		"a test that is not named":           {func(r *recorder) { fulltest.Named(r, named) }, "TestOther", []string{"full", "soak"}},
		"a subtest of one that is not named": {func(r *recorder) { fulltest.Named(r, named) }, "TestOther/row", []string{"full", "short", "soak"}},
	} {
		t.Run(what, func(t *testing.T) {
			var runs []string
			for tier := range tiers {
				inTier(t, tier)
				r := &recorder{TB: t, name: tc.name}
				if tc.ask(r); r.reason == "" {
					runs = append(runs, tier)
				}
			}
			slices.Sort(runs)
			if diff := cmp.Diff(tc.runs, runs); diff != "" {
				t.Errorf("it runs in other tiers (-want +got):\n%s", diff)
			}
		})
	}
}

//nolint:paralleltest // it sets a flag and a variable of the process
func TestSelection(t *testing.T) {
	numbers := []int{1, 2, 3, 4, 5, 6, 7, 8}
	table := map[string]int{"a": 1, "b": 2, "c": 3}
	for what, tc := range map[string]struct {
		choose            func(testing.TB) []int
		short, full, soak []int
	}{
		"elements in both lists": {func(tb testing.TB) []int {
			tb.Helper()
			return fulltest.Pick(tb, numbers, fulltest.Tiers{Short: []string{"5"}, Full: []string{"7", "2"}})
		}, []int{5}, []int{2, 5, 7}, numbers},
		"elements in one list": {func(tb testing.TB) []int {
			tb.Helper()
			return fulltest.Pick(tb, numbers, fulltest.Tiers{Short: []string{"8", "5"}})
		}, []int{5, 8}, numbers, numbers},
		"no element in the short tier": {func(tb testing.TB) []int {
			tb.Helper()
			return fulltest.Pick(tb, numbers, fulltest.Tiers{Full: []string{"1"}})
		}, nil, []int{1}, numbers},
		"rows": {func(tb testing.TB) []int {
			tb.Helper()
			var values []int
			for _, value := range fulltest.Rows(tb, table, "c") {
				values = append(values, value)
			}
			return values
		}, []int{3}, []int{1, 2, 3}, []int{1, 2, 3}},
		"elements at equal distances":           {func(testing.TB) []int { return fulltest.Spread(numbers, 3) }, []int{2, 5, 7}, []int{2, 5, 7}, numbers},
		"as many elements as there are or more": {func(testing.TB) []int { return fulltest.Spread(numbers, 9) }, numbers, numbers, numbers},
		"a size":                                {func(testing.TB) []int { return []int{fulltest.Size(1, 2, 3)} }, []int{1}, []int{2}, []int{3}},
	} {
		t.Run(what, func(t *testing.T) {
			for tier, want := range map[string][]int{"short": tc.short, "full": tc.full, "soak": tc.soak} {
				inTier(t, tier)
				if diff := cmp.Diff(want, tc.choose(t)); diff != "" {
					t.Errorf("in the %s tier (-want +got):\n%s", tier, diff)
				}
			}
		})
	}
}

//nolint:paralleltest // it sets a flag and a variable of the process
func TestPickFailsForNamesOfNoElement(t *testing.T) {
	for tier := range tiers {
		for _, of := range []fulltest.Tiers{{Short: []string{"old"}}, {Full: []string{"old"}}} {
			inTier(t, tier)
			r := &recorder{TB: t}
			if fulltest.Pick(r, []string{"new"}, of); !strings.Contains(r.failure, `"old"`) {
				t.Errorf("in the %s tier, %+v: the test fails with %q", tier, of, r.failure)
			}
		}
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	for range 4 {
		t.Run("one of many", func(t *testing.T) {
			t.Parallel()
			fulltest.Alone(t, "fulltest")
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d tests run at once", n)
			}
			t.Cleanup(func() { inside.Add(-1) }) // before the cleanup of Alone
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package fulltest_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/fulltest"
)

// run sets which run this is.
func run(t *testing.T, full, soak string) {
	t.Helper()
	for name, value := range map[string]string{
		"COOPER_FULL": full, "COOPER_SOAK": soak, "COOPER_SEED": "7", "COOPER_UNTIL": "", "COOPER_LEFT": filepath.Join(t.TempDir(), "left"),
	} {
		t.Setenv(name, value)
	}
}

// listed returns the names of the tests that were left to the full run.
func listed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("COOPER_LEFT"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "\tpartly\n")
		line, _, _ = strings.Cut(line, "\twhole\n")
		name, ok := strings.CutPrefix(line, dir+"\t")
		if !ok {
			t.Errorf("%q does not begin with %s", line, dir)
		}
		names = append(names, name)
	}
	return names
}

//nolint:paralleltest // it sets variables of the process
func TestLong(t *testing.T) {
	for name, tc := range map[string]struct {
		full, soak string
		want       bool
	}{"the short run": {"", "", false}, "the full run": {"1", "", false}, "its rest": {"rest", "", false}, "the soak": {"", "1", true}} {
		t.Run(name, func(t *testing.T) {
			run(t, tc.full, tc.soak)
			ran := false
			t.Run("a long test", func(t *testing.T) {
				fulltest.Long(t, "it is long")
				ran = true
			})
			if ran != tc.want || len(listed(t)) > 0 {
				t.Errorf("ran: want %v, got %v; left to the full run: %v", tc.want, ran, listed(t))
			}
		})
	}
}

//nolint:paralleltest // it sets variables of the process
func TestTheShortRunAndTheRestAreOfTheFullRun(t *testing.T) {
	matrix := make([]int, 100)
	for i := range matrix {
		matrix[i] = i
	}
	sizes := map[string]struct{ short, full, ofRepetitions, ofMatrix int }{ // the last two: what the rest makes
		"some and more":            {3, 20, 4, 4},
		"some and all":             {3, 100, 20, 20},
		"none and some":            {0, 6, 2, 2},
		"one more":                 {1, 2, 1, 1},
		"the same":                 {20, 20, 0, 0},
		"more than there are":      {200, 300, 20, 0},
		"the full run draws fewer": {5, 3, 0, 0},
	}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			draws := map[string][]int{}
			numbers := map[string][]int{}
			for _, full := range []string{"", "rest", "1"} {
				run(t, full, "")
				draws[full] = fulltest.Sample(&recorder{TB: t}, matrix, size.short, size.full)
				for i, to := fulltest.Range(&recorder{TB: t}, size.short, size.full); i < to; i++ {
					numbers[full] = append(numbers[full], i)
				}
			}
			if !slices.IsSorted(draws["1"]) {
				t.Errorf("not in order: %v", draws["1"])
			}
			for _, tried := range []struct {
				what              string
				full, short, rest []int
				want              int
			}{
				{"draws", draws["1"], draws[""], draws["rest"], size.ofMatrix},
				{"repetitions", numbers["1"], numbers[""], numbers["rest"], size.ofRepetitions},
			} {
				both := slices.Concat(tried.short, tried.rest)
				slices.Sort(both)
				if slices.ContainsFunc(both, func(i int) bool { return !slices.Contains(tried.full, i) }) || len(slices.Compact(both)) != len(tried.short)+len(tried.rest) {
					t.Errorf("%s: %v and %v are not of %v", tried.what, tried.short, tried.rest, tried.full)
				}
				if len(tried.rest) != tried.want {
					t.Errorf("%s: the rest has %v, want %d", tried.what, tried.rest, tried.want)
				}
			}
		})
	}
}

//nolint:paralleltest // it sets variables of the process
func TestWhatIsLeftHasItsFullSize(t *testing.T) {
	for full, want := range map[string]int{"": 3, "rest": 20, "1": 20} {
		run(t, full, "")
		if got := fulltest.Size(&recorder{TB: t}, 3, 20); got != want {
			t.Errorf("with COOPER_FULL=%q the size is %d, want %d", full, got, want)
		}
	}
}

//nolint:paralleltest // it sets variables of the process
func TestTheRowsOfTheShortRunAndOfTheRestAreTheTable(t *testing.T) {
	table := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}
	short, all := 0, map[string]int{}
	for _, full := range []string{"", "rest"} {
		run(t, full, "")
		for name, value := range fulltest.Rows(&recorder{TB: t}, table, 3) {
			if all[name] = value; full == "" {
				short++
			}
		}
	}
	if diff := cmp.Diff(table, all); diff != "" || short != 3 {
		t.Errorf("the short run tries %d; (-table +both):\n%s", short, diff)
	}
}

//nolint:paralleltest // it sets variables of the process
func TestDrawIsTheSameInEveryRun(t *testing.T) {
	all := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	draws := map[string][]int{}
	for _, full := range []string{"", "rest", "1"} {
		run(t, full, "")
		draws[full] = fulltest.Draw(&recorder{TB: t}, all, 4)
	}
	if len(draws[""]) != 4 || !slices.IsSorted(draws[""]) || !slices.Equal(draws[""], draws["rest"]) || !slices.Equal(draws[""], draws["1"]) {
		t.Errorf("want the same four, in order, got %v", draws)
	}
	if left := listed(t); len(left) > 0 {
		t.Errorf("left to the full run: %q", left)
	}
}

//nolint:paralleltest // it sets variables of the process
func TestTheSoakTriesAll(t *testing.T) {
	run(t, "", "1")
	if got := fulltest.Draw(t, []int{3, 1, 2}, 1); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("got %v", got)
	}
	if got := fulltest.Sample(t, []int{3, 1, 2}, 1, 2); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("got %v", got)
	}
	fulltest.Only(t, "never said")
}

// recorder is a test that keeps to itself what it says, and that it is skipped.
type recorder struct {
	testing.TB

	reason string
	name   string // if it is not that of TB
}

func (r *recorder) Name() string {
	if r.name != "" {
		return r.name
	}
	return r.TB.Name()
}

func (r *recorder) Skip(args ...any) { r.reason = fmt.Sprint(args...) }

func (r *recorder) Logf(string, ...any) {}

//nolint:paralleltest // it sets variables of the process
func TestWhatIsLeftIsListed(t *testing.T) {
	tests := map[string]struct {
		leave func(testing.TB)
		skips bool
		left  bool
	}{
		"a test of the full run alone": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Only(tb, "it takes long")
		}, true, true},
		"a sample": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Sample(tb, []int{1, 2, 3}, 1, 2)
		}, false, true},
		"a whole matrix": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Sample(tb, []int{1, 2, 3}, 3, 4)
		}, false, false},
		"fewer repetitions": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Range(tb, 1, 2)
		}, false, true},
		"a smaller size": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Size(tb, 1, 2)
		}, false, true},
		"all repetitions": {func(tb testing.TB) {
			tb.Helper()
			fulltest.Range(tb, 2, 2)
		}, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, full := range []string{"", "rest", "1"} {
				run(t, full, "")
				test := &recorder{TB: t}
				tc.leave(test)
				short := full == ""
				if got := test.reason == "left to make test-full: it takes long"; got != (tc.skips && short) {
					t.Errorf("with COOPER_FULL=%q it is skipped with %q", full, test.reason)
				}
				var want []string
				if tc.left && short {
					want = []string{t.Name()}
				}
				if diff := cmp.Diff(want, listed(t)); diff != "" {
					t.Errorf("with COOPER_FULL=%q the list is (-want +got):\n%s", full, diff)
				}
			}
		})
	}
}

func TestTheRestBeginsNothingAfterItsTime(t *testing.T) {
	asks := map[string]func(testing.TB){
		"a test":       func(tb testing.TB) { fulltest.Only(tb, "it takes long") },                   //nolint:thelper // a row
		"a sample":     func(tb testing.TB) { fulltest.Sample(tb, []int{1, 2, 3}, 1, 3) },            //nolint:thelper // a row
		"rows":         func(tb testing.TB) { fulltest.Rows(tb, map[string]int{"a": 1, "b": 2}, 1) }, //nolint:thelper // a row
		"repetitions":  func(tb testing.TB) { fulltest.Range(tb, 1, 2) },                             //nolint:thelper // a row
		"a size":       func(tb testing.TB) { fulltest.Size(tb, 1, 2) },                              //nolint:thelper // a row
		"a drawn test": func(tb testing.TB) { fulltest.Drawn(tb) },                                   //nolint:thelper // a row
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			for _, tc := range []struct {
				full, until string
				want        bool
			}{{"rest", "1", true}, {"rest", "99999999999", false}, {"rest", "", false}, {"1", "1", false}} {
				run(t, tc.full, "")
				t.Setenv("COOPER_UNTIL", tc.until)
				test := &recorder{TB: t}
				ask(test)
				if got := strings.HasPrefix(test.reason, "left to make test-full: the time"); got != tc.want {
					t.Errorf("with COOPER_FULL=%q and COOPER_UNTIL=%q it is skipped with %q", tc.full, tc.until, test.reason)
				}
			}
		})
	}
}

//nolint:paralleltest // it sets variables of the process
func TestAFifthOfTheTestsIsDrawn(t *testing.T) {
	asked := flag.Lookup("test.run").Value
	before := asked.String()
	t.Cleanup(func() { _ = asked.Set(before) })
	drawn := func(full, only string) map[string]bool {
		run(t, full, "")
		if err := asked.Set(only); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for i := range 100 {
			test := &recorder{TB: t, name: fmt.Sprintf("Test%d", i)}
			if fulltest.Drawn(test); test.reason == "" {
				names[test.name] = true
			}
		}
		return names
	}
	short := drawn("", "")
	if len(short) < 10 || len(short) > 35 {
		t.Errorf("the short run makes %d of 100", len(short))
	}
	if left := listed(t); len(left) < 10 || len(left) > 35 || slices.ContainsFunc(left, func(name string) bool { return short[name] }) {
		t.Errorf("the short run makes %v and leaves %q", short, left)
	}
	if diff := cmp.Diff(short, drawn("", "")); diff != "" {
		t.Errorf("the same seed draws others:\n%s", diff)
	}
	for why, all := range map[string]map[string]bool{
		"the full run": drawn("1", ""), "the rest, which -run names": drawn("rest", "Test1"), "those that -run names": drawn("", "Test1"),
	} {
		if len(all) != 100 {
			t.Errorf("%s: %d of 100", why, len(all))
		}
	}
}

func TestATableThatIsLeftWholeIsTriedWhole(t *testing.T) {
	asked := flag.Lookup("test.run").Value
	before := asked.String()
	t.Cleanup(func() { _ = asked.Set(before) })
	table := map[string]int{"a": 1, "b": 2, "c": 3}
	run(t, "", "")
	if err := asked.Set(""); err != nil {
		t.Fatal(err)
	}
	rows := func(name string) (tried int, skipped bool) {
		test := &recorder{TB: t, name: name}
		if fulltest.Drawn(test); test.reason != "" {
			return 0, true
		}
		for range fulltest.Rows(test, table, 1) {
			tried++
		}
		return tried, false
	}
	left := map[string]bool{}
	for i := range 20 {
		name := fmt.Sprintf("Test%d", i)
		if _, skipped := rows(name); !skipped || slices.Contains(listed(t), name) {
			left[name] = skipped
		}
	}
	t.Setenv("COOPER_FULL", "rest")
	for name, whole := range left {
		want := 1 // of the two that are left
		if whole {
			want = 2 // one, and as many
		}
		if got, _ := rows(name); got != want {
			t.Errorf("%s: the rest tries %d of 3 rows, want %d", name, got, want)
		}
		if got, _ := rows(name + "/a subtest with a table"); got != want {
			t.Errorf("in a subtest of %s the rest tries %d of 3 rows, want %d", name, got, want)
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
				t.Errorf("%d tests are alone", n)
			}
			t.Cleanup(func() { inside.Add(-1) }) // before that of Alone
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package fulltest assigns tests and table rows by name to three tiers. Each tier contains all tests of the previous
// tier:
//
//   - short: go test -short, `make test`. For use during development.
//   - full: go test without flags, `make test-full`. CI runs it.
//   - soak: COOPER_SOAK=1 go test, `make soak`. It takes hours.
//
// No other mechanism selects tests: the same command at the same commit always runs the same tests. If a test is not in
// the short tier, another test in the short tier must cover the same subject.
package fulltest

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/flock"
)

// Soak reports whether this is the soak.
func Soak() bool { return os.Getenv("COOPER_SOAK") != "" }

// Short reports whether this is the short tier.
func Short() bool { return testing.Short() && !Soak() }

// Only skips the test in the short tier. The reason states what the short tier runs instead.
func Only(tb testing.TB, reason string) {
	tb.Helper()
	if Short() {
		tb.Skip("runs in make test-full: " + reason)
	}
}

// Long skips the test outside the soak. The reason states what the full tier runs instead.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if !Soak() {
		tb.Skip("runs in make soak: " + reason)
	}
}

// Named skips the test in the short tier unless it is one of the tests with these names. A harness calls it, so that
// one list shows which of the harness's tests are in the short tier. Named does not skip subtests; use Rows or Pick for
// those.
func Named(tb testing.TB, short []string) {
	tb.Helper()
	if !strings.Contains(tb.Name(), "/") && !slices.Contains(short, tb.Name()) {
		Only(tb, "its package names the tests of the short tier")
	}
}

// Size returns the size of a test in this tier.
func Size(short, full, soak int) int {
	switch {
	case Soak():
		return soak
	case Short():
		return short
	default:
		return full
	}
}

// Tiers names the elements of a matrix that a tier runs, as fmt.Sprint prints them. The full tier runs the elements in
// Short and Full, or all if Full is nil. The soak runs all.
type Tiers struct{ Short, Full []string }

// Pick returns the elements that this tier runs, in their order. The test fails if no element has one of the names.
func Pick[T any](tb testing.TB, all []T, tiers Tiers) []T {
	tb.Helper()
	names := make([]string, len(all))
	for i, element := range all {
		names[i] = fmt.Sprint(element)
	}
	chosen := slices.Concat(tiers.Short, tiers.Full)
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			tb.Errorf("a tier names %q, which is not in %q", name, names)
		}
	}
	switch {
	case Soak() || !Short() && tiers.Full == nil:
		return all
	case Short():
		chosen = tiers.Short
	}
	var picked []T
	for i, name := range names {
		if slices.Contains(chosen, name) {
			picked = append(picked, all[i])
		}
	}
	return picked
}

// Rows returns the rows of a table that this tier runs, sorted by name. The short tier runs only the rows with the
// given names; the other tiers run all rows.
func Rows[T any](tb testing.TB, table map[string]T, short ...string) iter.Seq2[string, T] {
	tb.Helper()
	names := Pick(tb, slices.Sorted(maps.Keys(table)), Tiers{Short: short})
	return func(yield func(string, T) bool) {
		for _, name := range names {
			if !yield(name, table[name]) {
				return
			}
		}
	}
}

// Spread returns n elements of a matrix at equal distances, or all elements in the soak. Use it for elements without
// fixed names, such as the requests of a recorded run. If n is multiplied by an odd number, the result includes the
// same n elements.
func Spread[T any](all []T, n int) []T {
	if Soak() || n >= len(all) {
		return all
	}
	spread := make([]T, n)
	for i := range spread {
		spread[i] = all[(2*i+1)*len(all)/(2*n)]
	}
	return spread
}

// Alone waits until no other test of this user that called Alone with the same text is running in another process. Use
// it for tests that need most of the machine, such as a system of ten containers.
func Alone(tb testing.TB, what string) {
	tb.Helper()
	file, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("cooper-test-%s-%d.lock", what, os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	if err := flock.Wait(file); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := flock.Release(file); err != nil {
			tb.Error(err)
		}
	})
}

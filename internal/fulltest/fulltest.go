// SPDX-License-Identifier: Apache-2.0

// Package fulltest divides the tests into runs of three depths: the short one that a person waits for (`make test`, and
// go test without more), the full one (`make test-full`, COOPER_FULL=1) and the soak (COOPER_SOAK=1). What the short
// run leaves out it says, and COOPER_FULL=rest is the full run without what the short one has done.
//
// It knows nothing of what is tested. A test of a package must not be left to the full run unless another one tests the
// same subject in the short run.
package fulltest

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/flock"
)

// Soak reports whether everything is tried that can be, which takes hours.
func Soak() bool { return os.Getenv("COOPER_SOAK") != "" }

// Short reports whether this is the short run.
func Short() bool { return !Soak() && os.Getenv("COOPER_FULL") == "" }

// rest reports whether this run does what the short one left out, and nothing else.
func rest() bool { return !Soak() && os.Getenv("COOPER_FULL") == "rest" }

// inTime skips the test in the rest when it asks what of it is to be done after COOPER_UNTIL, a time in seconds since 1970.
// What it has learned before is done.
func inTime(tb testing.TB) {
	tb.Helper()
	given := os.Getenv("COOPER_UNTIL")
	if given == "" || !rest() {
		return
	}
	until, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		tb.Fatalf("COOPER_UNTIL: %v", err)
	}
	if time.Now().Unix() >= until {
		tb.Skip("left to make test-full: the time of this run is up")
	}
}

// Only skips the test in the short run; reason says why the short run can do without it.
func Only(tb testing.TB, reason string) {
	tb.Helper()
	inTime(tb)
	if Short() {
		left(tb)
		tb.Skip("left to make test-full: " + reason)
	}
}

// Long skips the test outside of the soak; reason says what of it the full run has.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if !Soak() {
		tb.Skip("left to COOPER_SOAK=1: " + reason)
	}
}

// Alone waits until no other test of this user, in whatever process, does the same, and holds that until tb ends.
// It is for what is too heavy to be there twice: a system of ten containers, whose deadlines another one would use up.
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

// Drawn skips four of five tests that call it in the short run, and leaves another one to the rest that CI runs: seed and
// name draw which. It skips none that -run asks for, and no row of a table, of which Rows makes a choice.
func Drawn(tb testing.TB) {
	tb.Helper()
	inTime(tb)
	if !Short() || strings.Contains(tb.Name(), "/") || flag.Lookup("test.run").Value.String() != "" {
		return
	}
	if n := random(tb, Seed(tb)).IntN(5); n > 0 {
		if n == 1 {
			list(tb, whole)
		}
		tb.Skip("left to make test-full: one of five of these tests is drawn; -run runs any")
	}
}

// Range returns which of full repetitions this run makes: those numbered from and up, below to. The short run makes
// short of them, the full one all, and the rest a fifth of those that the short run has not made. More in the soak is up to
// the test.
func Range(tb testing.TB, short, full int) (from, to int) {
	tb.Helper()
	inTime(tb)
	switch {
	case rest() && leftWhole(tb):
		return 0, min(full, short) + fifth(full-short)
	case full <= short: // the short run leaves nothing
		if rest() {
			return short, short
		}
		return 0, short
	case Short():
		left(tb)
		tb.Logf("%d of %d are left to make test-full", full-short, full)
		return 0, short
	case rest():
		return short, short + fifth(full-short)
	default:
		return 0, full
	}
}

// fifth is a fifth of n, rounded up; none of less than none.
func fifth(n int) int { return max(0, n+4) / 5 }

// Size returns the size of what a test tries once in every run: short in the short run and full in any other, also in
// what is left of the full one. More in the soak is up to the test.
func Size(tb testing.TB, short, full int) int {
	tb.Helper()
	inTime(tb)
	if Short() {
		left(tb)
		tb.Logf("its full size is left to make test-full: %d, here %d", full, short)
		return short
	}
	return full
}

// Sample returns the elements of a matrix that this run tries, in their order: short of them, drawn at random, in the
// short run, full of them, with the same ones among them, in the full run, and all in the soak; a fifth of what those
// two differ by in the rest. It logs the seed.
func Sample[T any](tb testing.TB, all []T, short, full int) []T {
	tb.Helper()
	if Soak() {
		return all
	}
	from, to := Range(tb, min(short, len(all)), min(full, len(all)))
	seed := Seed(tb)
	drawn := random(tb, seed).Perm(len(all))[from:to]
	if len(drawn) < len(all) {
		tb.Logf("%d of %d; COOPER_SEED=%d repeats them, COOPER_SOAK=1 tries all", len(drawn), len(all), seed)
	}
	return chosen(all, drawn)
}

// Rows returns the rows of a table that this run tries: short of them, drawn at random, in the short run, and all in
// any other.
func Rows[T any](tb testing.TB, table map[string]T, short int) iter.Seq2[string, T] {
	tb.Helper()
	names := Sample(tb, slices.Sorted(maps.Keys(table)), short, len(table))
	return func(yield func(string, T) bool) {
		for _, name := range names {
			if !yield(name, table[name]) {
				return
			}
		}
	}
}

// Draw returns n elements of a matrix in their order, drawn at random, and all in the soak. It logs the seed. A test uses
// it within what Sample has drawn, since the short run leaves nothing of it to the full one.
func Draw[T any](tb testing.TB, all []T, n int) []T {
	tb.Helper()
	if Soak() || n >= len(all) {
		return all
	}
	seed := Seed(tb)
	tb.Logf("%d of %d; COOPER_SEED=%d repeats them, COOPER_SOAK=1 tries all", n, len(all), seed)
	return chosen(all, random(tb, seed).Perm(len(all))[:n])
}

// chosen returns the elements with these numbers in their order.
func chosen[T any](all []T, numbers []int) []T {
	slices.Sort(numbers)
	elements := make([]T, 0, len(numbers))
	for _, i := range numbers {
		elements = append(elements, all[i])
	}
	return elements
}

// random returns the source that a test draws from: another one for each name of a test, the same one in each run.
func random(tb testing.TB, seed uint64) *rand.Rand {
	tb.Helper()
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name()))             // never fails
	return rand.New(rand.NewPCG(seed, name.Sum64())) //nolint:gosec // a choice of tests
}

// chance is the seed of a test binary to which nobody has given one.
var chance = sync.OnceValue(func() uint64 { return uint64(rand.Uint32()) }) //nolint:gosec // a choice of tests

// Seed returns COOPER_SEED, or a seed that this test binary draws at random. Whoever draws with it logs it.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	given := os.Getenv("COOPER_SEED")
	if given == "" {
		if rest() {
			tb.Fatal("COOPER_FULL=rest needs the COOPER_SEED of the short run")
		}
		return chance()
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		tb.Fatalf("COOPER_SEED: %v", err)
	}
	return seed
}

// partly and whole say how much of a test the short run has left.
const partly, whole = "partly", "whole"

// left lists the test among what the rest of the full run is.
func left(tb testing.TB) {
	tb.Helper()
	list(tb, partly)
}

// list adds a line to the list of what the rest of the full run is (hack/test.sh), if one is kept: the directory of the
// package, the test, and how much of it is left.
func list(tb testing.TB, much string) {
	tb.Helper()
	path := os.Getenv("COOPER_LEFT")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatalf("COOPER_LEFT: %v", err)
	}
	_, err = file.WriteString(line(tb, tb.Name(), much) + "\n") // one write: lines of other processes do not mix with it
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		tb.Fatalf("COOPER_LEFT: %v", err)
	}
}

// leftWhole reports whether the short run has skipped the test that this is, or is a subtest of.
func leftWhole(tb testing.TB) bool {
	tb.Helper()
	text, err := os.ReadFile(os.Getenv("COOPER_LEFT"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatalf("COOPER_LEFT: %v", err)
	}
	name, _, _ := strings.Cut(tb.Name(), "/")
	return slices.Contains(strings.Split(string(text), "\n"), line(tb, name, whole))
}

// line is a line of the list.
func line(tb testing.TB, name, much string) string {
	tb.Helper()
	dir, err := os.Getwd() // that of the package, as go test starts it
	if err != nil {
		tb.Fatalf("COOPER_LEFT: %v", err)
	}
	return dir + "\t" + name + "\t" + much
}

// SPDX-License-Identifier: Apache-2.0

// Program mutations tests the lifecycle tests: it builds in one defect of
// patches/ after the other and asserts that the tests of the cases listed for it
// fail. The source tree is never changed; go test gets each defect as an overlay.
//
//	go run ./hack/mutations                 # all, and write docs/reference/lifecycle-coverage.md
//	go run ./hack/mutations -sample 5       # five of them, drawn by the printed seed
//	go run ./hack/mutations -only rotation  # those whose name holds the word
//	go run ./hack/mutations -refresh        # write the patches again, with the code around them as it is now
//
// It exits 1 if a defect was not found.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is how long a mutated test waits for what will never happen.
const patience = "10s"

// basePatience is how long a test without a defect waits, which only delays
// failures.
const basePatience = "40s"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1) //nolint:gocritic // stop only restores the signal handler
	}
}

func run(ctx context.Context) error {
	sample := flag.Int("sample", 0, "try only this many mutations; 0 means all")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the sample")
	only := flag.String("only", "", "try only mutations whose name holds this text, or one of several between |")
	refresh := flag.Bool("refresh", false, "write each patch again with the lines around it as they are now, and run no test")
	buildOnly := flag.Bool("build", false, "build each mutation in, and run no test")
	jobs := flag.Int("jobs", 1, "how many mutations to try at a time")
	record := flag.String("record", "", "file of the results: what it holds is not tried again, and what is tried is added")
	coverage := flag.String("coverage", "docs/reference/lifecycle-coverage.md", "page to write after a run of all mutations")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	chosen, err := all(root)
	if err != nil {
		return err
	}
	if *only != "" {
		chosen = slices.DeleteFunc(chosen, func(m mutation) bool { return !holdsOne(m.Name, strings.Split(*only, "|")) })
	}
	if *sample > 0 {
		fmt.Printf("seed %d\n", *seed)
		r := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // a sample, no secret
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:min(*sample, len(chosen))]
		for i := range chosen {
			chosen[i].Crash = "" // all crash points of a flow take a minute
		}
	}
	if *refresh {
		return each(chosen, func(m mutation, dir string) error { return m.refresh(ctx, root, dir) })
	}
	if *buildOnly {
		return each(chosen, func(m mutation, dir string) error {
			_, err := m.build(ctx, root, dir)
			return err
		})
	}
	known, err := readResults(*record)
	if err != nil {
		return err
	}
	if err := withoutAny(ctx, root, chosen, known); err != nil {
		return err
	}
	results, missed, err := tryAll(ctx, root, chosen, known, *record, *jobs)
	if err != nil {
		return err
	}
	fmt.Printf("%d mutations, %d missed\n", len(chosen), missed)
	if missed > 0 {
		return fmt.Errorf("%d mutations were not found by every test that must find them", missed)
	}
	if *sample > 0 || *only != "" {
		return nil
	}
	return writeCoverage(root, *coverage, chosen, results)
}

// holdsOne reports whether a name holds one of some texts.
func holdsOne(name string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(name, text) })
}

// withoutAny asserts that the tests pass as long as there is no defect.
func withoutAny(ctx context.Context, root string, chosen []mutation, known map[string][]string) error {
	untried := slices.DeleteFunc(slices.Clone(chosen), func(m mutation) bool { return known[m.Name] != nil })
	if len(untried) == 0 {
		return nil
	}
	failed, err := test(ctx, root, "", basePatience, patternsOf(untried))
	if err != nil || len(failed) > 0 {
		return errors.Join(fmt.Errorf("without any defect, %q fail: the run would prove nothing", failed), err)
	}
	return nil
}

// tryAll tries the mutations whose results are not known, and returns the tests
// that failed, by the name of the mutation, and how many mutations were missed.
func tryAll(ctx context.Context, root string, chosen []mutation, known map[string][]string, record string, jobs int) (map[string][]string, int, error) {
	var mu sync.Mutex
	missed, results := 0, maps.Clone(known)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(jobs, 1))
	for _, m := range chosen {
		if known[m.Name] != nil {
			continue
		}
		group.Go(func() error {
			began := time.Now()
			failed, err := m.try(ctx, root)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			took := time.Since(began).Round(time.Second)
			mu.Lock()
			defer mu.Unlock()
			problem := m.judge(failed)
			if err != nil {
				problem = err.Error()
			}
			if problem != "" {
				missed++
				fmt.Printf("MISSED  %s: %s (%v)\n", m.Name, problem, took)
				return nil
			}
			results[m.Name] = failed
			if err := writeResults(record, results); err != nil {
				return err
			}
			fmt.Printf("found   %s (%v)\n", m.Name, took)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return results, missed, fmt.Errorf("run the mutations: %w", err)
	}
	return results, missed, nil
}

// readResults reads the file of an earlier run; without one there are none.
func readResults(path string) (map[string][]string, error) {
	results := map[string][]string{}
	raw, err := os.ReadFile(path)
	if path == "" || os.IsNotExist(err) {
		return results, nil
	}
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	if err := json.Unmarshal(raw, &results); err != nil {
		return nil, fmt.Errorf("results %s: %w", path, err)
	}
	return results, nil
}

func writeResults(path string, results map[string][]string) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return os.WriteFile(path, raw, 0o600)
}

// judge says what must have failed and did not; empty means that all is well.
func (m mutation) judge(failed []string) string {
	var passed []string
	for _, number := range m.Cases {
		if !slices.ContainsFunc(failed, func(test string) bool { return proves(test, number) }) {
			passed = append(passed, fmt.Sprintf("case %d passes", number))
		}
	}
	if m.Crash != "" && !slices.ContainsFunc(failed, func(test string) bool { return strings.HasPrefix(test, "TestCrash") }) {
		passed = append(passed, "no crash point fails")
	}
	return strings.Join(passed, ", ")
}

// caseOf matches the names of the tests of a case.
func caseOf(number int) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^TestCase(\d\d_)*%02d_`, number))
}

// proves reports whether a test that failed is one of a case. A subtest that names
// its own case in a test of several stands for that one alone.
func proves(failed string, number int) bool {
	test, sub, _ := strings.Cut(failed, "/")
	if !caseOf(number).MatchString(test) {
		return false
	}
	named := regexp.MustCompile(`case_(\d+):`).FindStringSubmatch(sub)
	return len(named) < 2 || named[1] == strconv.Itoa(number)
}

// try builds the mutation in, runs the tests that must find it, and returns the
// names of those that failed.
func (m mutation) try(ctx context.Context, root string) (failed []string, err error) {
	err = each([]mutation{m}, func(m mutation, dir string) error {
		overlay, err := m.build(ctx, root, dir)
		if err != nil {
			return err
		}
		failed, err = test(ctx, root, overlay, patience, patternsOf([]mutation{m}))
		return err
	})
	return failed, err
}

// build builds controller and sidecar with the mutation, and returns the overlay.
func (m mutation) build(ctx context.Context, root, dir string) (string, error) {
	overlay, err := m.overlay(ctx, root, dir)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "./controller/...", "./sidecar/...")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", m.patch, err, output)
	}
	return overlay, nil
}

// each does something with each mutation in a directory of its own.
func each(ms []mutation, do func(m mutation, dir string) error) error {
	var errs []error
	for _, m := range ms {
		dir, err := os.MkdirTemp("", "mutation-")
		if err != nil {
			return fmt.Errorf("directory for a mutation: %w", err)
		}
		errs = append(errs, do(m, dir), os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// patternsOf match the tests that must find the mutations.
func patternsOf(ms []mutation) []string {
	var patterns []string
	for _, m := range ms {
		for _, number := range m.Cases {
			patterns = append(patterns, caseOf(number).String())
		}
		if m.Crash != "" {
			patterns = append(patterns, "^TestCrash$/^flows$/^"+strings.ReplaceAll(m.Crash, " ", "_")+"$")
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// test runs the tests that match a pattern and returns the names of those that
// failed. It fails if none ran.
func test(ctx context.Context, root, overlay, wait string, patterns []string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-parallel=8", "-timeout=20m",
		"-overlay="+overlay, "-run="+strings.Join(patterns, "|"), "./lifecycle")
	command.Dir = root
	command.Env = append(os.Environ(), "COOPER_LIFECYCLE_PATIENCE="+wait, "COOPER_SOAK=1")
	output, failure := command.Output()
	failed, ran := parse(output)
	if ran == 0 {
		return nil, fmt.Errorf("no test ran (%w):\n%s", failure, output)
	}
	return failed, nil
}

// parse returns the names of the tests that failed, those of the subtests
// instead where some did, and how many ran.
func parse(output []byte) (failed []string, ran int) {
	within := map[string][]string{} // by the name of the test
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		test, _, isSub := strings.Cut(event.Test, "/")
		switch {
		case event.Action == "run" && !isSub:
			ran++
		case event.Action == "fail" && isSub:
			within[test] = append(within[test], event.Test)
		case event.Action == "fail": // after its subtests
			failed = append(failed, within[test]...)
			if len(within[test]) == 0 {
				failed = append(failed, test)
			}
		}
	}
	slices.Sort(failed)
	return failed, ran
}

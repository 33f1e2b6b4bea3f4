// SPDX-License-Identifier: Apache-2.0

// Program mutations checks the lifecycle tests, and a few other tests, by mutation testing. It applies each
// defect of patches/ in turn. The header of a defect names either one test, which must fail, or lifecycle
// cases. For each of these cases, at least one test must fail. The program does not change the source tree
// during tests, because go test gets each defect as an overlay.
//
//	go run ./hack/mutations                 # test all defects, and write docs/reference/lifecycle-coverage.md
//	go run ./hack/mutations -only rotation  # test defects with this word in their names, and update their rows
//	go run ./hack/mutations -refresh        # update the context lines of the patches to the current code
//
// The exit code is 1 if the tests do not detect a defect.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is the timeout of a test with a defect for conditions that never become true.
const patience = "10s"

// basePatience is the timeout of a test without a defect, which only delays failures.
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
	only := flag.String("only", "", "run only defects with this text, or one of several texts separated by |, in their names")
	refresh := flag.Bool("refresh", false, "update the context lines of each patch, and run no tests")
	buildOnly := flag.Bool("build", false, "build each defect, and run no tests")
	jobs := flag.Int("jobs", 1, "number of defects to run in parallel")
	coverage := flag.String("coverage", "docs/reference/lifecycle-coverage.md", "page to write; a run of some defects updates only their rows")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	every, err := all(root)
	if err != nil {
		return err
	}
	chosen := slices.Clone(every)
	if *only != "" {
		chosen = slices.DeleteFunc(chosen, func(d defect) bool { return !holdsOne(d.Name, strings.Split(*only, "|")) })
	}
	if *refresh {
		return each(chosen, func(d defect, dir string) error { return d.refresh(ctx, root, dir) })
	}
	if *buildOnly {
		return each(chosen, func(d defect, dir string) error {
			_, err := d.build(ctx, root, dir)
			return err
		})
	}
	if err := withoutAny(ctx, root, chosen); err != nil {
		return err
	}
	results, missed, err := tryAll(ctx, root, chosen, *jobs)
	if err != nil {
		return err
	}
	fmt.Printf("%d defects, %d missed\n", len(chosen), missed)
	if missed > 0 {
		return fmt.Errorf("%d defects were not detected by the tests that their headers require", missed)
	}
	return writeCoverage(root, *coverage, every, results, *only == "")
}

// holdsOne reports whether a name contains one of the texts.
func holdsOne(name string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(name, text) })
}

// withoutAny asserts that the tests pass without a defect.
func withoutAny(ctx context.Context, root string, chosen []defect) error {
	byPackage := map[string][]defect{}
	for _, d := range chosen {
		byPackage[d.packageOf()] = append(byPackage[d.packageOf()], d)
	}
	for _, some := range byPackage {
		o, err := test(ctx, root, "", basePatience, some)
		if err != nil || len(o.Failed) > 0 {
			return errors.Join(fmt.Errorf("the tests %q already fail without a defect: fix them first", o.Failed), err)
		}
	}
	return nil
}

// tryAll tries defects, several at a time. It returns the results by the name of the defect, and the number
// of defects that no test found.
func tryAll(ctx context.Context, root string, chosen []defect, jobs int) (map[string]outcome, int, error) {
	var mu sync.Mutex
	missed, results := 0, map[string]outcome{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(jobs, 1))
	for _, d := range chosen {
		group.Go(func() error {
			began := time.Now()
			o, err := d.try(ctx, root)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			took := time.Since(began).Round(time.Second)
			mu.Lock()
			defer mu.Unlock()
			problem := d.judge(o)
			if err != nil {
				problem = err.Error()
			}
			if problem != "" {
				missed++
				fmt.Printf("MISSED  %s: %s (%v)\n", d.Name, problem, took)
				return nil
			}
			results[d.Name] = o
			fmt.Printf("found   %s (%v)\n", d.Name, took)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return results, missed, fmt.Errorf("test the defects: %w", err)
	}
	return results, missed, nil
}

// judge returns which expected failure did not occur, or an empty string.
func (d defect) judge(o outcome) string {
	var passed []string
	for _, id := range d.Cases {
		if !slices.Contains(o.Cases, id) {
			passed = append(passed, "case "+id+" passes")
		}
	}
	if d.Crash != "" && !slices.ContainsFunc(o.Failed, func(test string) bool { return strings.HasPrefix(test, "TestCrash/") }) {
		passed = append(passed, "no crash point fails")
	}
	if d.Test != "" && !slices.ContainsFunc(o.Failed, func(test string) bool { return strings.HasPrefix(test+"/", d.Test+"/") }) {
		passed = append(passed, d.Test+" passes")
	}
	return strings.Join(passed, ", ")
}

// try applies the defect and runs the tests that must find it.
func (d defect) try(ctx context.Context, root string) (o outcome, err error) {
	err = each([]defect{d}, func(d defect, dir string) error {
		overlay, err := d.build(ctx, root, dir)
		if err != nil {
			return err
		}
		o, err = test(ctx, root, overlay, patience, []defect{d})
		return err
	})
	return o, err
}

// build compiles the packages that the defect changes, and returns the overlay.
func (d defect) build(ctx context.Context, root, dir string) (string, error) {
	overlay, err := d.overlay(ctx, root, dir)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "./controller/...", "./sidecar/...", "./drivers/...")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", d.patch, err, output)
	}
	return overlay, nil
}

// each calls do for each defect with a separate directory.
func each(ds []defect, do func(d defect, dir string) error) error {
	var errs []error
	for _, d := range ds {
		dir, err := os.MkdirTemp("", "defect-")
		if err != nil {
			return fmt.Errorf("create a directory for a defect: %w", err)
		}
		errs = append(errs, do(d, dir), os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

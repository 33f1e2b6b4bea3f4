// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// An outcome is the set of failures in a test run.
type outcome struct {
	// Failed are the names of the failed tests; if subtests failed, their names instead.
	Failed []string
	// Cases are the IDs of the cases that the failed tests cover.
	Cases []string
}

// packageOf returns the package whose tests must find the defect.
func (d defect) packageOf() string { return cmp.Or(d.Package, "./lifecycle") }

// patternsOf returns -run patterns for the tests that must find the defects.
func patternsOf(root string, ds []defect) ([]string, error) {
	tests, err := cases.Tests(filepath.Join(root, "lifecycle"))
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, d := range ds {
		if d.Test != "" {
			patterns = append(patterns, "^"+strings.ReplaceAll(regexp.QuoteMeta(d.Test), "/", "$/^")+"$")
		}
		for _, id := range d.Cases {
			if tests[id] == nil {
				return nil, fmt.Errorf("%s: no test in lifecycle covers case %s", d.patch, id)
			}
			for _, name := range tests[id] {
				patterns = append(patterns, "^"+name+"$")
			}
		}
		if d.Crash != "" {
			patterns = append(patterns, "^TestCrash$/^flows$/^"+strings.ReplaceAll(d.Crash, " ", "_")+"$")
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns), nil
}

// test runs the tests that must find the defects, which belong to one package. It returns an error if no test
// ran.
func test(ctx context.Context, root, overlay, wait string, ds []defect) (outcome, error) {
	patterns, err := patternsOf(root, ds)
	if err != nil {
		return outcome{}, err
	}
	command := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-parallel=8", "-timeout=20m",
		"-overlay="+overlay, "-run="+strings.Join(patterns, "|"), ds[0].packageOf())
	command.Dir = root
	command.Env = append(os.Environ(), "COOPER_LIFECYCLE_PATIENCE="+wait, "COOPER_SOAK=1")
	output, failure := command.Output()
	o, ran := parse(output)
	if ran == 0 {
		return outcome{}, fmt.Errorf("no test ran (%w):\n%s", failure, output)
	}
	return o, nil
}

// parse returns the failures, and the number of tests that ran.
func parse(output []byte) (o outcome, ran int) {
	within := map[string][]string{}  // failed subtests by test name
	covered := map[string][]string{} // cases by the name of the test that declares them
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Key, Value string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		test, _, isSub := strings.Cut(event.Test, "/")
		switch {
		case event.Action == "attr" && event.Key == cases.Attribute:
			covered[event.Test] = append(covered[event.Test], event.Value)
		case event.Action == "run" && !isSub:
			ran++
		case event.Action == "fail" && isSub:
			within[test] = append(within[test], event.Test)
		case event.Action == "fail": // reported after its subtests
			o.Failed = append(o.Failed, within[test]...)
			if len(within[test]) == 0 {
				o.Failed = append(o.Failed, test)
			}
		}
	}
	for _, name := range o.Failed {
		o.Cases = append(o.Cases, shown(name, covered)...)
	}
	slices.Sort(o.Failed)
	slices.Sort(o.Cases)
	o.Cases = slices.Compact(o.Cases)
	return o, ran
}

// shown returns the cases of a failed test: those declared by the innermost enclosing test that declares any.
func shown(name string, covered map[string][]string) []string {
	for covered[name] == nil {
		end := strings.LastIndex(name, "/")
		if end < 0 {
			return nil
		}
		name = name[:end]
	}
	return covered[name]
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxLines is how many lines of one failing test are shown: the last ones, for
// the failure is at the end.
const maxLines = 300

// event is one line of `go test -json`; `go doc test2json` describes it.
type event struct {
	Action     string  `json:"Action"`
	Package    string  `json:"Package"`
	ImportPath string  `json:"ImportPath"` // of a build-output event
	Test       string  `json:"Test"`
	Output     string  `json:"Output"`
	Elapsed    float64 `json:"Elapsed"` // seconds
}

// test is what is known of one test or subtest while its package runs.
type test struct {
	name   string
	result string // "", pass, fail or skip
	output []string
}

// pkg is what is known of one package.
type pkg struct {
	tests  map[string]*test
	order  []*test
	output []string // lines of no test
}

// counts are the totals of one part or of the whole run.
type counts struct {
	packages, passed, failed, skipped int
	seconds                           float64
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

// tally collects events and prints what a reader wants to see of them.
type tally struct {
	out     io.Writer
	parts   []part
	show    []string // names of tests whose output is shown also when they pass
	total   counts
	byPart  map[string]*counts
	running map[string]*pkg
	builds  map[string][]string // build output by import path
	skips   map[string][]string // names of tests by the reason of their skip
}

func newTally(out io.Writer, parts []part) *tally {
	return &tally{
		out:     out,
		parts:   parts,
		byPart:  map[string]*counts{},
		running: map[string]*pkg{},
		builds:  map[string][]string{},
		skips:   map[string][]string{},
	}
}

// Failed reports whether anything has failed so far.
func (t *tally) Failed() bool { return t.total.failed > 0 }

// Line takes one line of go test's output. A line that is no event is printed
// as it is: go test writes some messages outside the JSON stream.
func (t *tally) Line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintln(t.out, string(bytes.TrimRight(line, "\n")))
		return
	}
	if e.Action == "build-output" {
		t.builds[e.ImportPath] = append(t.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := t.pkg(e.Package)
	if e.Test == "" {
		t.packageEvent(p, e)
		return
	}
	tst := p.test(e.Test)
	switch e.Action {
	case "output":
		tst.output = append(tst.output, e.Output)
	case "pass", "fail", "skip":
		tst.result = e.Action
	}
}

func (t *tally) pkg(path string) *pkg {
	p, ok := t.running[path]
	if !ok {
		p = &pkg{tests: map[string]*test{}}
		t.running[path] = p
	}
	return p
}

func (p *pkg) test(name string) *test {
	found, ok := p.tests[name]
	if !ok {
		found = &test{name: name}
		p.tests[name] = found
		p.order = append(p.order, found)
	}
	return found
}

func (t *tally) packageEvent(p *pkg, e event) {
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass", "fail":
		t.finish(p, e)
		delete(t.running, e.Package)
	case "skip": // no test files
		delete(t.running, e.Package)
	}
}

// finish counts a package whose last event this is, and prints its failures and
// its closing line.
func (t *tally) finish(p *pkg, e event) {
	c := counts{packages: 1, seconds: e.Elapsed}
	for _, tst := range p.order {
		switch {
		case tst.result == "pass":
			c.passed++
			if slices.Contains(t.show, tst.name) {
				t.print(tst.output)
			}
		case tst.result == "skip":
			c.skipped++
			reason := skipReason(tst.output)
			t.skips[reason] = append(t.skips[reason], e.Package+"."+tst.name)
		case tst.result == "" && e.Action == "pass":
			// Seen but never finished in a package that passed: an output
			// line that looked like the start of a test.
		default: // failed, or cut off when the package died
			c.failed++
			t.print(tst.output)
		}
	}
	if e.Action == "fail" {
		if c.failed == 0 {
			c.failed = 1 // it did not build, or died outside its tests
		}
		t.printBuild(e.Package)
		t.print(p.output)
	} else {
		t.print(closing(p.output))
	}
	t.count(e.Package, c)
}

// printBuild prints what the compiler said of a package or of its test binary.
func (t *tally) printBuild(path string) {
	for _, importPath := range slices.Sorted(maps.Keys(t.builds)) {
		if name, _, _ := strings.Cut(importPath, " "); strings.TrimSuffix(name, ".test") == path {
			t.print(t.builds[importPath])
			delete(t.builds, importPath)
		}
	}
}

func (t *tally) print(lines []string) {
	text := strings.SplitAfter(strings.Join(lines, ""), "\n")
	if cut := len(text) - maxLines; cut > 0 {
		fmt.Fprintf(t.out, "    ... %d earlier lines are not shown; run this test alone to see them\n", cut)
		text = text[cut:]
	}
	fmt.Fprint(t.out, strings.Join(text, ""))
}

func (t *tally) count(path string, c counts) {
	name := partOf(t.parts, path)
	if t.byPart[name] == nil {
		t.byPart[name] = &counts{}
	}
	for _, sum := range []*counts{&t.total, t.byPart[name]} {
		sum.packages += c.packages
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
		sum.seconds += c.seconds
	}
}

// Summary prints the reasons of all skips, a line for each part and, last and
// alone on its line, the totals. Call it once, when no event is left.
func (t *tally) Summary() {
	for _, path := range slices.Sorted(maps.Keys(t.running)) {
		fmt.Fprintf(t.out, "FAIL\t%s\t[go test ended before this package did]\n", path)
		t.finish(t.running[path], event{Action: "fail", Package: path})
	}
	for _, importPath := range slices.Sorted(maps.Keys(t.builds)) {
		t.print(t.builds[importPath]) // warnings, or of a package that no test event named
	}
	for _, reason := range slices.Sorted(maps.Keys(t.skips)) {
		names := t.skips[reason]
		fmt.Fprintf(t.out, "skipped %d: %s\n    %s\n", len(names), reason, strings.Join(names, "\n    "))
	}
	fmt.Fprintln(t.out)
	for _, name := range slices.Sorted(maps.Keys(t.byPart)) {
		c := t.byPart[name]
		fmt.Fprintf(t.out, "%-12s %3d packages, %5.1f package-minutes: %s\n", name, c.packages, c.seconds/60, c)
	}
	fmt.Fprintln(t.out, t.total)
}

// closing returns the line with which go test closes a package that passed.
func closing(lines []string) []string {
	var last []string
	for _, line := range lines {
		if strings.HasPrefix(line, "ok  \t") {
			last = []string{line}
		}
	}
	return last
}

// skipReason finds the reason in the output of a skipped test: the text after
// "file.go:12: ".
func skipReason(lines []string) string {
	for _, line := range slices.Backward(lines) {
		_, reason, found := strings.Cut(line, ".go:")
		if !found {
			continue
		}
		if _, text, ok := strings.Cut(reason, ": "); ok {
			return strings.TrimSpace(text)
		}
	}
	return "no reason given"
}

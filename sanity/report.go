// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// ResultKind is the outcome of a case.
type ResultKind string

const (
	// Passed means that the driver behaves as the case requires.
	Passed ResultKind = "passed"
	// Failed means that the driver does not behave as the case requires.
	Failed ResultKind = "failed"
	// NotApplicable means that the case has nothing to check for this driver and configuration. Reason states what
	// is missing. It does not count as passed.
	NotApplicable ResultKind = "not applicable"
	// NotRun means that the run ended before the case. It does not count as passed.
	NotRun ResultKind = "not run"
)

// Result is the result of one case.
type Result struct {
	Case    Case
	Outcome ResultKind
	// Failure is set if Outcome is Failed.
	Failure *Failure
	// Reason is set if Outcome is NotApplicable or NotRun.
	Reason   string
	Duration time.Duration
	// Leftovers lists resources that could not be removed after the case.
	Leftovers []string
}

// Failure describes what went wrong.
type Failure struct {
	Message string
	// Exchanges are the last calls of the case, oldest first.
	Exchanges []Exchange
}

// Exchange is a call and its response, without secrets.
type Exchange struct {
	Method  string `json:"method"`
	Request string `json:"request"`
	// Response is the driver's response, or the code and message.
	Response string `json:"response"`
}

func (x exchange) printed() Exchange {
	printed := Exchange{Method: x.method, Request: cosi.RedactedString(x.request), Response: cosi.RedactedString(x.response)}
	if code := x.status.Code(); code != codes.OK {
		printed.Response = fmt.Sprintf("%s: %s", code, x.status.Message())
	}
	return printed
}

// Report is the result of a run.
type Report struct {
	// Driver is the name from DriverGetInfo, or empty if it did not respond.
	Driver string
	// Run is the run ID, which is part of all names that the run created. Seed repeats its random choices.
	Run     string
	Seed    uint64
	Started time.Time
	Elapsed time.Duration
	// Results are sorted by case ID.
	Results []Result
	// Known is the number of cases of the contract. Focused means that some were excluded on request.
	Known   int
	Focused bool
}

func (s *suite) report(started time.Time) Report {
	slices.SortFunc(s.results, byID)
	known := len(CasesOf(s.config.Contract))
	return Report{
		Driver: s.info.GetName(), Run: s.run, Seed: s.seed, Started: started, Elapsed: time.Since(started),
		Results: s.results, Known: known, Focused: len(s.results) < known,
	}
}

// Count counts the cases of a level.
type Count struct {
	// Passed is the number of Applicable cases that passed. Applicable does not include NotApplicable.
	Passed, Applicable, NotApplicable int
}

// Count counts the cases of a level.
func (r Report) Count(level Level) Count {
	var count Count
	for _, result := range r.Results {
		switch {
		case result.Case.Level != level:
		case result.Outcome == NotApplicable:
			count.NotApplicable++
		default:
			count.Applicable++
			if result.Outcome == Passed {
				count.Passed++
			}
		}
	}
	return count
}

// String returns "n/n", with the number of cases that are not applicable if there are any.
func (c Count) String() string {
	if c.NotApplicable == 0 {
		return fmt.Sprintf("%d/%d", c.Passed, c.Applicable)
	}
	return fmt.Sprintf("%d/%d (%d not applicable)", c.Passed, c.Applicable, c.NotApplicable)
}

// Verdict returns a line such as "conformant: MUST n/n (m not applicable), SHOULD n/n, ADVICE n/n". The line begins
// with "conformant", "not conformant" or "not tested". If cases were excluded, it ends with the number of
// selected cases, and begins with "MUST" instead of "conformant".
func (r Report) Verdict() string {
	line := fmt.Sprintf("MUST %s, SHOULD %s, ADVICE %s", r.Count(Must), r.Count(Should), r.Count(Advice))
	if r.Focused {
		line += fmt.Sprintf("; only %d of %d cases were selected", len(r.Results), r.Known)
	}
	switch must := r.Count(Must); {
	case r.Conformant():
		return "conformant: " + line
	case !r.Tested():
		return "not tested: " + line
	case must.Passed < must.Applicable:
		return "not conformant: " + line
	default:
		return line
	}
}

// Tested reports whether the run produced a result. That requires that the driver responded and, unless cases were
// excluded on request, that at least one case of level Must was applicable.
func (r Report) Tested() bool {
	if r.Driver == "" && len(r.Of(Passed)) == 0 {
		return false
	}
	return r.Focused || r.Count(Must).Applicable > 0
}

// Conformant reports whether the driver conforms. That requires that no case was excluded on request, that at least
// one case of level Must was applicable, and that all applicable cases of that level passed.
func (r Report) Conformant() bool {
	count := r.Count(Must)
	return !r.Focused && count.Applicable > 0 && count.Passed == count.Applicable
}

// Of returns the results with an outcome, ordered by ID.
func (r Report) Of(outcome ResultKind) []Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(result Result) bool { return result.Outcome != outcome })
}

// Explain returns all information about a failed case, on several lines.
func (r Result) Explain() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: %s\n", r.Case.ID, r.Case.Level, r.Case.Title)
	if r.Failure != nil {
		fmt.Fprintf(&text, "  failure:       %s\n", strings.ReplaceAll(r.Failure.Message, "\n", "\n    "))
		for _, x := range r.Failure.Exchanges {
			fmt.Fprintf(&text, "  %s\n    request:  %s\n    response: %s\n", x.Method, shorten(x.Request), shorten(x.Response))
		}
	}
	if r.Reason != "" {
		fmt.Fprintf(&text, "  %s: %s\n", r.Outcome, r.Reason)
	}
	fmt.Fprintf(&text, "  the text:      %q (%s)\n", r.Case.Rule.Text, r.Case.Rule.Source)
	fmt.Fprintf(&text, "  fix:           %s\n", r.Case.Fix)
	for _, leftover := range r.Leftovers {
		fmt.Fprintf(&text, "  left behind:   %s\n", leftover)
	}
	return text.String()
}

// Explain returns a description of what a case checks, on several lines.
func (c Case) Explain() string {
	text := fmt.Sprintf("%s %s: %s\n  the text:       %q (%s)\n  why %s: %s\n  fix:            %s\n",
		c.ID, c.Level, c.Title, c.Rule.Text, c.Rule.Source, c.Level, c.Why, c.Fix)
	if len(c.Needs) > 0 {
		text += "  needs:          " + needNames(c.Needs) + "\n"
	}
	return text
}

func shorten(text string) string {
	if len(text) > 2000 {
		return text[:2000] + " ..."
	}
	return text
}

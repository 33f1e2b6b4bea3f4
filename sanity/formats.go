// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// jsonReport is the format of WriteJSON.
type jsonReport struct {
	Driver     string       `json:"driver"`
	Verdict    string       `json:"verdict"`
	Conformant bool         `json:"conformant"`
	Selected   int          `json:"selected"`
	Known      int          `json:"known"`
	Run        string       `json:"run"`
	Seed       uint64       `json:"seed"`
	Started    time.Time    `json:"started"`
	Seconds    float64      `json:"seconds"`
	Cases      []jsonResult `json:"cases"`
}

type jsonResult struct {
	ID        string     `json:"id"`
	Level     string     `json:"level"`
	Title     string     `json:"title"`
	Text      string     `json:"text"`
	Source    string     `json:"source"`
	Outcome   ResultKind `json:"outcome"`
	Reason    string     `json:"reason,omitempty"`
	Message   string     `json:"message,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`
	Fix       string     `json:"fix,omitempty"`
	Leftovers []string   `json:"leftovers,omitempty"`
	Seconds   float64    `json:"seconds"`
}

// WriteJSON writes the report as one JSON object.
func (r Report) WriteJSON(to io.Writer) error {
	report := jsonReport{
		Driver: r.Driver, Verdict: r.Verdict(), Conformant: r.Conformant(), Selected: len(r.Results), Known: r.Known, Run: r.Run, Seed: r.Seed,
		Started: r.Started, Seconds: r.Elapsed.Seconds(),
	}
	for _, result := range r.Results {
		entry := jsonResult{
			ID: result.Case.ID, Level: result.Case.Level.String(), Title: result.Case.Title,
			Text: result.Case.Rule.Text, Source: result.Case.Rule.Source,
			Outcome: result.Outcome, Reason: result.Reason, Leftovers: result.Leftovers, Seconds: result.Duration.Seconds(),
		}
		if result.Failure != nil {
			entry.Message, entry.Exchanges, entry.Fix = result.Failure.Message, result.Failure.Exchanges, result.Case.Fix
		}
		report.Cases = append(report.Cases, entry)
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("write the JSON report: %w", err)
	}
	return nil
}

// junitReport is the format of WriteJUnit, which continuous integration systems read: one suite per level.
type junitReport struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds float64       `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML. A case that was not run because the run ended counts as failed. A case
// that is not applicable counts as skipped.
func (r Report) WriteJUnit(to io.Writer) error {
	var report junitReport
	for _, level := range []Level{Must, Should, Advice} {
		suite := junitSuite{Name: level.String()}
		for _, result := range r.Results {
			if result.Case.Level == level {
				suite.add(result)
			}
		}
		report.Suites = append(report.Suites, suite)
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

func (s *junitSuite) add(result Result) {
	entry := junitCase{Class: result.Case.Chapter(), Name: result.Case.ID + " " + result.Case.Title, Seconds: result.Duration.Seconds()}
	switch result.Outcome {
	case Passed:
	case Failed:
		s.Failures++
		entry.Failure = &junitMessage{Message: result.Failure.Message, Text: result.Explain()}
	case NotRun:
		s.Failures++
		entry.Failure = &junitMessage{Message: "not run: " + result.Reason}
	case NotApplicable:
		s.Skipped++
		entry.Skipped = &junitMessage{Message: result.Reason}
	}
	s.Tests++
	s.Cases = append(s.Cases, entry)
}

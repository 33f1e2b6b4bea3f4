// SPDX-License-Identifier: Apache-2.0

// Package conformancetest runs the conformance suite against the drivers of this repository and keeps
// docs/reference/conformance.md, the page with the results, up to date. The checks themselves are in package sanity.
package conformancetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/sanity"
)

// page is written by the tests that call Test, one section each, if COOPER_UPDATE is set.
const page = "docs/reference/conformance.md"

// targets returns the titles of the sections, in the order of the page.
func targets() []string {
	return []string{
		"cosi-driver-s3 on s3fake",
		"cosi-driver-s3 on s3fake, with service accounts",
		"cosi-driver-s3 on s3fake, with one key for all",
		"cosi-driver-s3 on s3fake, with lagging reads",
		"cosi-driver-s3 on s3fake, by v1alpha1",
		"cosi-driver-azure on azurefake, with keys and service accounts",
		"cosi-driver-azure on azurefake, with lagging reads",
		"cosi-driver-azure on azurefake, by v1alpha1",
		"cosi-driver-gcs on gcsfake, with HMAC keys",
		"cosi-driver-gcs on gcsfake, with JSON keys",
		"cosi-driver-gcs on gcsfake, with lagging reads",
		"cosi-driver-gcs on gcsfake, by v1alpha1",
		"cosi-driver-static on s3fake",
		"cosi-driver-static on azurefake",
		"cosi-driver-static on gcsfake",
		"drivers/driverkit/example",
		"memdriver: wide.memory.example.com",
		"memdriver: narrow.memory.example.com",
		"memdriver: old.memory.example.com",
	}
}

// Test runs the whole suite against a driver of this repository. If target is set, it is the title of a section of the
// page: the section must match the results, and the driver must not leave anything behind.
func Test(t *testing.T, target string, config sanity.Config) sanity.Report {
	t.Helper()
	// The drivers are fast, but the machine may be slow.
	config.Limits.Start = cmp.Or(config.Limits.Start, 3*time.Minute)
	config.Limits.Stop = cmp.Or(config.Limits.Stop, 2*time.Minute)
	config.Limits.RPC = cmp.Or(config.Limits.RPC, 3*time.Minute)
	config.Limits.Case = cmp.Or(config.Limits.Case, 15*time.Minute)
	report, err := sanity.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Results {
		switch {
		case result.Outcome == sanity.Failed, result.Outcome == sanity.NotRun, target != "" && len(result.Leftovers) > 0:
			t.Error(result.Explain())
		case len(result.Leftovers) > 0:
			t.Log(result.Explain())
		}
	}
	t.Log(report.Verdict())
	if target != "" && !t.Failed() {
		want := section(report)
		compare(t, func(sections map[string]string) { sections[target] = want })
	}
	return report
}

// compare compares the page with the result of changing its sections, or writes the result.
func compare(t *testing.T, change func(sections map[string]string)) {
	t.Helper()
	docstest.CurrentPage(t, page, func(old string) []byte {
		sections := split(old)
		change(sections)
		return render(sections)
	})
}

// split returns the sections of a page by target.
func split(text string) map[string]string {
	sections := map[string]string{}
	for _, target := range targets() {
		_, rest, _ := strings.Cut(text, "\n### "+target+"\n")
		text, _, _ := strings.Cut(rest, "\n##")
		sections[target] = strings.TrimSpace(text)
	}
	return sections
}

// render returns the page.
func render(sections map[string]string) []byte {
	var out bytes.Buffer
	cases, count := sanity.Cases(), map[sanity.Level]int{}
	for _, c := range cases {
		count[c.Level]++
	}
	old := sanity.CasesOf(sanity.V1Alpha1)
	own := slices.DeleteFunc(slices.Clone(old), func(c sanity.Case) bool {
		return slices.ContainsFunc(cases, func(other sanity.Case) bool { return other.ID == c.ID })
	})
	fmt.Fprintf(&out, "<!-- Written by the drivers' conformance tests, with COOPER_UPDATE=1. Do not edit. -->\n\n# Conformance\n\n"+
		"The suite has %d cases: %d MUST, %d SHOULD and %d ADVICE. A case that is not applicable does not count as passed.\n"+
		"For drivers of v1alpha1, it has %d cases, of which %d are specific to v1alpha1.\n"+
		"To run the suite: [certify your driver](../howto/certify-your-driver.md).\n\n## The drivers of this repository\n",
		len(cases), count[sanity.Must], count[sanity.Should], count[sanity.Advice], len(old), len(own))
	for _, target := range targets() {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", target, sections[target])
	}
	out.WriteString("\n## The cases\n")
	chapter := ""
	for _, c := range slices.Concat(cases, own) {
		if c.Chapter() != chapter {
			chapter = c.Chapter()
			fmt.Fprintf(&out, "\n### %s\n\n| case | level | a conforming driver | source | reason for the level |\n|---|---|---|---|---|\n", chapter)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | \"%s\" (%s) | %s |\n", c.ID, c.Level, cell(c.Title), cell(c.Rule.Text), cell(c.Rule.Source), cell(c.Why))
	}
	return out.Bytes()
}

// section returns the text of a report without anything that differs between runs.
func section(report sanity.Report) string {
	byReason := map[string][]string{}
	for _, result := range report.Of(sanity.NotApplicable) {
		byReason[result.Reason] = append(byReason[result.Reason], result.Case.ID)
	}
	lines := []string{fmt.Sprintf("MUST %s, SHOULD %s, ADVICE %s.\n", report.Count(sanity.Must), report.Count(sanity.Should), report.Count(sanity.Advice))}
	for reason, ids := range byReason {
		lines = append(lines, "- not applicable: "+reason+": "+strings.Join(ids, ", "))
	}
	slices.Sort(lines[1:])
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// cell escapes a text for a table cell.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;").Replace(text)
}

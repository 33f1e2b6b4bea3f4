// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/sanity"
)

// render writes the page. It holds nothing that differs from run to run.
func render(outcomes []outcome) []byte {
	var out bytes.Buffer
	out.WriteString("<!-- Written by make generate (hack/conformance). Do not edit. -->\n\n# Conformance\n\n")
	cases := sanity.Cases()
	count := map[sanity.Level]int{}
	for _, c := range cases {
		count[c.Level]++
	}
	fmt.Fprintf(&out, "The suite has %d cases: %d MUST, %d SHOULD and %d ADVICE. A case that is not applicable is no pass.\n"+
		"How to run it: [certify your driver](../howto/certify-your-driver.md).\n\n## The drivers of this repository\n\n",
		len(cases), count[sanity.Must], count[sanity.Should], count[sanity.Advice])
	out.WriteString("| driver | MUST | SHOULD | ADVICE |\n|---|---|---|---|\n")
	for _, o := range outcomes {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", o.about, o.report.Count(sanity.Must), o.report.Count(sanity.Should), o.report.Count(sanity.Advice))
	}
	for _, o := range outcomes {
		exceptions(&out, o)
	}
	out.WriteString("\n## The cases\n")
	chapter := ""
	for _, c := range cases {
		if c.Chapter() != chapter {
			chapter = c.Chapter()
			fmt.Fprintf(&out, "\n### %s\n\n| case | level | a conforming driver | where it stands | why the level |\n|---|---|---|---|---|\n", chapter)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | \"%s\" (%s) | %s |\n", c.ID, c.Level, cell(c.Title), cell(c.Rule.Text), cell(c.Rule.Source), cell(c.Why))
	}
	return out.Bytes()
}

// exceptions lists what did not pass, by reason.
func exceptions(out *bytes.Buffer, o outcome) {
	byReason := map[string][]string{}
	for _, result := range o.report.Results {
		switch result.Outcome {
		case sanity.Passed:
		case sanity.Failed:
			reason := "failed: " + result.Case.Title
			byReason[reason] = append(byReason[reason], result.Case.ID)
		case sanity.NotApplicable, sanity.NotRun:
			reason := string(result.Outcome) + ": " + result.Reason
			byReason[reason] = append(byReason[reason], result.Case.ID)
		}
	}
	if len(byReason) == 0 {
		return
	}
	var reasons []string
	for reason := range byReason {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	fmt.Fprintf(out, "\n%s:\n\n", o.about)
	for _, reason := range reasons {
		fmt.Fprintf(out, "- %s: %s\n", reason, strings.Join(byReason[reason], ", "))
	}
}

// cell makes a text fit into a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;").Replace(text)
}

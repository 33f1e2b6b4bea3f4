// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cooper-cosi/cooper/sanity"
)

func list(out io.Writer, contract sanity.Contract) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range sanity.CasesOf(contract) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", c.ID, c.Level, c.Title)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the list of cases: %w", err)
	}
	return nil
}

func explain(out io.Writer, id string) (int, error) {
	for _, c := range slices.Concat(sanity.Cases(), sanity.CasesOf(sanity.V1Alpha1)) {
		if strings.EqualFold(c.ID, id) {
			_, err := io.WriteString(out, c.Explain())
			return exitConformant, err
		}
	}
	return exitUsage, fmt.Errorf("unknown case %s; see --list", id)
}

// waiting returns a function that prints what the command waits for.
func waiting(problems io.Writer) func(string) {
	return func(what string) { _, _ = fmt.Fprintln(problems, "cosi-sanity: waiting for", what) }
}

// progress prints results as they arrive: one updated line on a terminal, separate lines otherwise.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	counts   map[sanity.ResultKind]int
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, counts: map[sanity.ResultKind]int{}}
	if file, isFile := out.(*os.File); isFile {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) show(result sanity.Result) {
	p.counts[result.Outcome]++
	if result.Outcome == sanity.NotRun {
		return // the summary lists them together
	}
	if !p.terminal {
		_, _ = fmt.Fprintf(p.out, "%-14s %-11s %-6s %s\n", result.Outcome, result.Case.ID, result.Case.Level, result.Case.Title)
		return
	}
	done := 0
	for _, n := range p.counts {
		done += n
	}
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%d of at most %d cases, %d failed  %s", done, p.total, p.counts[sanity.Failed], result.Case.ID)
	if result.Outcome == sanity.Failed {
		_, _ = fmt.Fprintf(p.out, "\r\x1b[Kfailed %s %s: %s\n", result.Case.ID, result.Case.Level, result.Case.Title)
	}
}

// summarize prints the failures in full, the unchecked cases by reason, and the verdict.
func summarize(out io.Writer, report sanity.Report, book journalFile) {
	_, _ = fmt.Fprintln(out)
	for _, result := range report.Of(sanity.Failed) {
		_, _ = fmt.Fprintln(out, result.Explain())
	}
	reasons := map[string][]string{}
	var order []string
	for _, kind := range []sanity.ResultKind{sanity.NotRun, sanity.NotApplicable} {
		for _, result := range report.Of(kind) {
			reason := fmt.Sprintf("%s: %s", kind, result.Reason)
			if reasons[reason] == nil {
				order = append(order, reason)
			}
			reasons[reason] = append(reasons[reason], result.Case.ID)
		}
	}
	for _, reason := range order {
		_, _ = fmt.Fprintf(out, "%s\n    %s\n", reason, which(reasons[reason], len(report.Results)))
	}
	if !clean(report) {
		_, _ = fmt.Fprintln(out, "\nnot removed; to try again, run cosi-sanity sweep --journal "+book.file.Name()+":")
		for _, result := range report.Results {
			for _, leftover := range result.Leftovers {
				_, _ = fmt.Fprintf(out, "    %s: %s\n", result.Case.ID, leftover)
			}
		}
	}
	name := report.Driver
	if name == "" {
		name = "no driver responded"
	}
	_, _ = fmt.Fprintf(out, "\n%s (run %s, seed %d, %.1f s)\n%s\n", name, report.Run, report.Seed, report.Elapsed.Seconds(), report.Verdict())
}

// which lists case IDs unless nearly all cases are meant.
func which(ids []string, of int) string {
	if len(ids) > of/2 {
		return fmt.Sprintf("%d of %d cases", len(ids), of)
	}
	return strings.Join(ids, " ")
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A figure is one number in a column. Its name includes the unit.
type figure struct {
	name  string
	value float64
}

// A column contains the figures of a step.
type column struct {
	name    string
	figures []figure
}

// A table has a row for each figure and a column for each step.
type table struct {
	title   string
	columns []column
}

// figures returns the figures of a phase.
func (p *phase) figures() []figure {
	all := p.pace()
	all = append(all, latencies(string(claim), p.timing.claims, p.floor.claims, p.programs.claims)...)
	all = append(all, latencies(string(access), p.timing.accesses, p.floor.accesses, p.programs.accesses)...)
	all = append(all, p.cost(p.pairs)...)
	verb := map[fact]string{ready: "create: ", gone: "delete: "}[p.move.fact]
	for i := range all {
		all[i].name = verb + all[i].name
	}
	return all
}

// pace returns the throughput of a burst. It is empty for single pairs, which include pauses.
func (p *phase) pace() []figure {
	if p.single {
		return nil
	}
	perSecond := func(took time.Duration) float64 { return float64(p.pairs) / took.Seconds() }
	all := []figure{{"pairs/s", perSecond(p.timing.done)}}
	if p.floor.done > 0 {
		all = append(all, figure{"floor of pairs/s", perSecond(p.floor.done)})
	}
	return append(all, figure{"asked for after, s", p.timing.asked.Seconds()}, figure{"all seen after, s", p.timing.done.Seconds()})
}

func latencies(what string, took, floor, programs []time.Duration) []figure {
	var all []figure
	for _, q := range []int{50, 90, 99} {
		all = append(all, figure{fmt.Sprintf("%s p%d, ms", what, q), milliseconds(quantile(took, float64(q)/100))})
		if len(floor) > 0 {
			all = append(all, figure{fmt.Sprintf("floor of %s p%d, ms", what, q), milliseconds(quantile(floor, float64(q)/100))})
		}
	}
	median := func(of []time.Duration) float64 { return float64(max(quantile(of, 0.5), 1)) }
	if len(floor) > 0 {
		all = append(all, figure{what + " p50 / its floor", median(took) / median(floor)})
	}
	if len(programs) > 0 {
		all = append(all, figure{"floor of two programs of " + what + " p50, ms", milliseconds(quantile(programs, 0.5))},
			figure{what + " p50 / its floor of two programs", median(took) / median(programs)})
	}
	return all
}

// cost returns the requests and resources per pair.
func (m *meter) cost(n int) []figure {
	each := func(total int) float64 { return float64(total) / float64(n) }
	all := []figure{
		{"object writes per pair", each(m.asked.writes)},
		{"requests per pair", each(m.asked.total())},
	}
	for _, kind := range slices.Sorted(maps.Keys(m.asked.requests)) {
		all = append(all, figure{"- " + kind, each(m.asked.requests[kind])})
	}
	all = append(all, m.refused()...)
	for _, rpc := range slices.Sorted(maps.Keys(m.calls)) {
		if m.calls[rpc] > 0 {
			all = append(all, figure{rpc + " per pair", each(m.calls[rpc])})
		}
	}
	for _, role := range slices.Sorted(maps.Keys(m.used)) {
		all = append(all, figure{role + ", ms of CPU per pair", milliseconds(m.used[role].cpu) / float64(n)})
	}
	for _, role := range slices.Sorted(maps.Keys(m.used)) {
		all = append(all, figure{role + ", peak MiB", mebibytes(m.used[role].peak)})
	}
	return all
}

// sums returns the total requests and resources of one component or, if role is empty, of all.
func (m *meter) sums(role string) []figure {
	all := []figure{{"object writes", float64(m.asked.writes)}, {"requests", float64(m.asked.total())}}
	for _, kind := range slices.Sorted(maps.Keys(m.asked.requests)) {
		all = append(all, figure{"- " + kind, float64(m.asked.requests[kind])})
	}
	all = append(all, m.refused()...)
	calls := 0
	for n := range maps.Values(m.calls) {
		calls += n
	}
	all = append(all, figure{"calls of drivers", float64(calls)})
	for _, of := range slices.Sorted(maps.Keys(m.used)) {
		if role == "" || role == of {
			all = append(all, figure{of + ", s of CPU", m.used[of].cpu.Seconds()}, figure{of + ", peak MiB", mebibytes(m.used[of].peak)})
		}
	}
	return all
}

func (m *meter) refused() []figure {
	all := []figure{{"conflicts", float64(m.asked.conflicts)}}
	if m.asked.forbidden > 0 {
		all = append(all, figure{"forbidden", float64(m.asked.forbidden)})
	}
	return all
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// names returns the names of all figures. A figure that is missing in some columns is placed after its
// predecessor in a column that has it.
func (t table) names() []string {
	var names []string
	for _, c := range t.columns {
		at := 0
		for _, f := range c.figures {
			if i := slices.Index(names, f.name); i >= 0 {
				at = i + 1
				continue
			}
			names = slices.Insert(names, at, f.name)
			at++
		}
	}
	return names
}

// print prints the table as Markdown.
func (t table) print(out io.Writer) {
	fmt.Fprintf(out, "\n| %s |", t.title)
	for _, c := range t.columns {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(t.columns)))
	for _, name := range t.names() {
		fmt.Fprintf(out, "| %s |", name)
		for _, c := range t.columns {
			fmt.Fprintf(out, " %s |", c.value(name))
		}
		fmt.Fprintln(out)
	}
}

func (c column) value(name string) string {
	for _, f := range c.figures {
		if f.name == name {
			return round3(f.value)
		}
	}
	return "-"
}

// round3 rounds to three digits, but keeps all digits before the decimal point.
func round3(value float64) string {
	digits := 2
	for limit := 10.0; limit <= 100 && (value >= limit || -value >= limit); limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}

// writeJSON writes all tables to a file: title, step, figure, value.
func writeJSON(path string, tables []table) error {
	all := map[string]map[string]map[string]float64{}
	for _, t := range tables {
		all[t.title] = map[string]map[string]float64{}
		for _, c := range t.columns {
			all[t.title][c.name] = map[string]float64{}
			for _, f := range c.figures {
				all[t.title][c.name][f.name] = f.value
			}
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the file of -json: %w", err)
	}
	return nil
}

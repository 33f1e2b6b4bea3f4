// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// figures are the measurements of a store, by row.
type figures map[string]float64

// A column is a store with its figures.
type column struct {
	store string
	figures
}

// Rows without parameters. rateRow and listRow name those of rates and listings.
const (
	rowStart   = "start, ms"
	rowObjects = "objects of 4 KiB"
	rowMemory  = "resident memory with these objects, MB"
	rowKeys    = "number of keys to list"
)

func rateRow(what string, size, clients int) string {
	unit := "4 KiB"
	if size == large {
		unit = "8 MiB"
	}
	return fmt.Sprintf("%s %s, %s, a second", what, unit, clientsOf(clients))
}

func listRow(clients int) string { return "keys listed, " + clientsOf(clients) + ", a second" }

func clientsOf(n int) string {
	if n == 1 {
		return "1 client"
	}
	return strconv.Itoa(n) + " clients"
}

// rows returns all rows in order.
func rows() []string {
	out := []string{rowStart}
	for _, size := range []int{small, large} {
		for _, clients := range []int{1, many} {
			out = append(out, rateRow("put", size, clients), rateRow("get", size, clients))
		}
	}
	return append(out, rowObjects, rowMemory, rowKeys, listRow(1), listRow(many))
}

// table returns a Markdown table with a column for each store.
func table(columns []column) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range columns {
		b.WriteString(" " + c.store + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range rows() {
		b.WriteString("| " + row + " |")
		for _, c := range columns {
			b.WriteString(" " + format(c.figures[row]) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// format formats with at least three digits.
func format(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// allowed are the licences whose code may be linked into an Apache-2.0 program
// without a condition on the whole program.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// phrases identify a licence by words of its own text: all of them, and none of
// the unless ones. Text is compared in lower case with single spaces. A file that
// holds several licences yields each.
var phrases = []struct {
	name   string
	all    []string
	unless []string
}{
	{name: "Apache-2.0", all: []string{"apache license", "version 2.0, january 2004"}},
	{name: "Apache-2.0", all: []string{"licensed under the apache license, version 2.0"}},
	{name: "MIT", all: []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{
		name: "BSD-3-Clause",
		all:  []string{"redistribution and use in source and binary forms", "endorse or promote products"},
	},
	{
		name:   "BSD-2-Clause",
		all:    []string{"redistribution and use in source and binary forms"},
		unless: []string{"endorse or promote products"},
	},
	{
		name: "ISC",
		all: []string{
			"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that",
		},
	},
	{
		name: "ISC",
		all:  []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted, provided that"},
	},
	{
		name: "0BSD",
		all:  []string{"distribute this software for any purpose with or without fee is hereby granted. the software is provided"},
	},
	{name: "MPL-2.0", all: []string{"mozilla public license version 2.0"}},
	{name: "CC0-1.0", all: []string{"cc0 1.0 universal"}},
	{name: "Unlicense", all: []string{"this is free and unencumbered software released into the public domain"}},
	// Never allowed; named so that the refusal says what it is. The headings are
	// asked for, since other licences mention these by name.
	{name: "AGPL", all: []string{"gnu affero general public license version 3, 19 november 2007"}},
	{name: "LGPL", all: []string{"gnu lesser general public license version"}},
	{name: "GPL", all: []string{"gnu general public license version 3, 29 june 2007"}},
	{name: "GPL", all: []string{"gnu general public license version 2, june 1991"}},
	{name: "GPL", all: []string{"under the terms of the gnu general public license"}, unless: []string{"mozilla public license version 2.0"}},
	{name: "SSPL", all: []string{"server side public license"}},
	{name: "BUSL", all: []string{"business source license"}},
	{name: "Commons-Clause", all: []string{"commons clause"}},
}

// isLicenceFile reports whether a file of this name holds a licence.
func isLicenceFile(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") ||
		strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "UNLICENSE")
}

// classify returns the names of the licences whose text this is.
func classify(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(phrase string) bool { return strings.Contains(text, phrase) }
	var names []string
	for _, p := range phrases {
		every := !slices.ContainsFunc(p.all, func(phrase string) bool { return !has(phrase) })
		if every && !slices.ContainsFunc(p.unless, has) {
			names = append(names, p.name)
		}
	}
	return names
}

// permitted refuses any licence that is not on the list.
func permitted(names []string) error {
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("licence %s is not allowed in a shipped program: remove the dependency", name)
		}
	}
	return nil
}

// keys returns the keys of a map of any value.
func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

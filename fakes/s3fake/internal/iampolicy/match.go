// SPDX-License-Identifier: Apache-2.0

package iampolicy

import "strings"

// Match reports whether value matches pattern. In pattern, '*' matches any sequence of characters and '?' matches one
// character.
func Match(pattern, value string) bool {
	return literalPattern(pattern).match(value)
}

// pattern is a wildcard pattern in which the values of policy variables are literal: a user named "*" must not match
// every prefix.
type pattern struct {
	text []byte
	// wild marks the bytes of text that are wildcards.
	wild []bool
}

func literalPattern(s string) pattern {
	p := pattern{text: []byte(s), wild: make([]bool, len(s))}
	for i := range p.text {
		p.wild[i] = p.text[i] == '*' || p.text[i] == '?'
	}
	return p
}

func (p *pattern) literal(s string) {
	p.text = append(p.text, s...)
	p.wild = append(p.wild, make([]bool, len(s))...)
}

func (p *pattern) wildcards(s string) {
	q := literalPattern(s)
	p.text = append(p.text, q.text...)
	p.wild = append(p.wild, q.wild...)
}

// match is linear in the length of value times the number of stars at worst.
func (p pattern) match(value string) bool {
	pi, vi, star, mark := 0, 0, -1, 0
	for vi < len(value) {
		switch {
		case pi < len(p.text) && p.wild[pi] && p.text[pi] == '*':
			star, mark = pi, vi
			pi++
		case pi < len(p.text) && ((p.wild[pi] && p.text[pi] == '?') || (!p.wild[pi] && p.text[pi] == value[vi])):
			pi++
			vi++
		case star >= 0:
			mark++
			pi, vi = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p.text) && p.wild[pi] && p.text[pi] == '*' {
		pi++
	}
	return pi == len(p.text)
}

// expand replaces the policy variables of s ("IAM policy elements: Variables and tags"). ok is false when a
// variable has no value and no default; the element then matches nothing.
func expand(s string, ctx Context) (p pattern, ok bool) {
	if !strings.Contains(s, "${") {
		return literalPattern(s), true
	}
	for {
		before, rest, found := strings.Cut(s, "${")
		p.wildcards(before)
		if !found {
			return p, true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			p.wildcards("${" + rest)
			return p, true
		}
		value, ok := variable(name, ctx)
		if !ok {
			return pattern{}, false
		}
		p.literal(value)
		s = after
	}
}

func variable(name string, ctx Context) (string, bool) {
	switch name {
	case "*", "?", "$":
		return name, true
	}
	name, fallback, hasFallback := strings.Cut(name, ",")
	if values := ctx.Values(strings.TrimSpace(name)); len(values) == 1 {
		return values[0], true
	}
	fallback = strings.TrimSpace(fallback)
	if hasFallback && len(fallback) >= 2 && fallback[0] == '\'' && fallback[len(fallback)-1] == '\'' {
		return fallback[1 : len(fallback)-1], true
	}
	return "", false
}

// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
)

// glob compiles a matchGlob ("List objects and prefixes using glob"). * and ? do not match a slash, ** does. [ab],
// [a-z] and [!a] match one character, {a,b} matches one of several, and a backslash escapes the next character.
func glob(text string) (func(name string) bool, error) {
	var out strings.Builder
	out.WriteString(`\A(?s:`)
	for rest, depth := text, 0; rest != "" || depth > 0; {
		if rest == "" {
			return nil, badGlob(text)
		}
		pattern, n := globToken(rest, depth)
		if n == 0 {
			return nil, badGlob(text)
		}
		switch rest[0] {
		case '{':
			depth++
		case '}':
			depth--
		}
		out.WriteString(pattern)
		rest = rest[n:]
	}
	out.WriteString(`)\z`)
	compiled, err := regexp.Compile(out.String())
	if err != nil {
		return nil, badGlob(text)
	}
	return compiled.MatchString, nil
}

func badGlob(text string) error { return gcserr.Invalid.Say("Invalid matchGlob: %q.", text) }

// globToken returns the regular expression for the first token of a glob and the token's length, or 0 if it is
// incomplete. depth is the number of open braces.
func globToken(rest string, depth int) (pattern string, length int) {
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "**/"):
		return `(?:.*/)?`, 3
	case strings.HasPrefix(rest, "**"):
		return `.*`, 2
	case c == '*':
		return `[^/]*`, 1
	case c == '?':
		return `[^/]`, 1
	case c == '[':
		return globClass(rest)
	case c == '{':
		return `(?:`, 1
	case c == ',' && depth > 0:
		return `|`, 1
	case c == '}' && depth > 0:
		return `)`, 1
	case c == '\\':
		if len(rest) < 2 {
			return "", 0
		}
		_, size := utf8.DecodeRuneInString(rest[1:])
		return regexp.QuoteMeta(rest[1 : 1+size]), 1 + size
	default:
		_, size := utf8.DecodeRuneInString(rest)
		return regexp.QuoteMeta(rest[:size]), size
	}
}

// globClass reads a class in brackets.
func globClass(rest string) (pattern string, length int) {
	inside, _, closed := strings.Cut(rest[1:], "]")
	length = len(inside) + 2
	if !closed || inside == "" || inside == "!" || inside == "^" {
		return "", 0
	}
	if inside[0] == '!' || inside[0] == '^' {
		return "[^/" + classMeta.Replace(inside[1:]) + "]", length
	}
	return "[" + classMeta.Replace(inside) + "]", length
}

// classMeta quotes the characters that have a special meaning only in the character classes of regular expressions.
var classMeta = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`)

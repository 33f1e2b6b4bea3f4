// SPDX-License-Identifier: Apache-2.0

// Package shellenv prints variable assignments that a POSIX shell can eval.
package shellenv

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Write prints one export line for each variable, sorted by name. It quotes values, so that eval takes them
// literally. If a name is invalid, it returns an error and prints nothing.
func Write(w io.Writer, variables map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !valid(name) {
			return fmt.Errorf("%q cannot be the name of an environment variable", name)
		}
		fmt.Fprintf(&text, "export %s=%s\n", name, Quote(variables[name]))
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print the environment: %w", err)
	}
	return nil
}

// Unset prints a line that unsets variables. Without names it prints nothing. If a name is invalid, it
// returns an error and prints nothing.
func Unset(w io.Writer, names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if !valid(name) {
			return fmt.Errorf("%q cannot be the name of an environment variable", name)
		}
	}
	if _, err := fmt.Fprintf(w, "unset %s\n", strings.Join(names, " ")); err != nil {
		return fmt.Errorf("print the environment: %w", err)
	}
	return nil
}

// Quote quotes s as one shell word, if necessary.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func special(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !strings.ContainsRune("_-./:@%+=,", r)
	}
}

func valid(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

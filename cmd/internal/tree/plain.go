// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"unicode"
)

// Plain makes untrusted text, such as a driver's message, safe for one line of a terminal. It replaces
// nonprintable characters with the replacement character, and line breaks with spaces.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

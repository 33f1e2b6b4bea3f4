// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"unicode"
)

// Plain makes a line of text that anybody may have written, such as the message of a
// driver, harmless for a terminal: what does not print becomes a replacement
// character, and what ends a line a space.
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

// SPDX-License-Identifier: Apache-2.0

// Package xmltext writes the text of XML errors without references to characters that are valid as they are. Parsers
// that JavaScript clients use do not resolve numeric references.
package xmltext

import (
	"encoding/xml"
	"strings"
)

var plain = strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&#xA;", "\n", "&#xa;", "\n", "&#x9;", "\t")

// Plain replaces references in encoded text of elements. It must not be used for attributes.
func Plain(encoded string) string { return plain.Replace(encoded) }

// Escape encodes the text of an element.
func Escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder never fails
	return Plain(b.String())
}

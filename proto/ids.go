// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// escape begins an escaped byte in an ID. Few IDs have two dots in a row, and those
// are escaped.
const escape = ".."

// EscapeID returns an ID of a driver of another generation, which may hold any
// character, in those that this contract and the Kubernetes API have for one. Nearly all
// stay as they are; otherwise each other byte, and each dot, is two dots and two
// hexadecimal digits.
func EscapeID(id string) string {
	if id == "" || ValidateBucketID(id) == nil && !strings.Contains(id, escape) {
		return id
	}
	var text strings.Builder
	for _, b := range []byte(id) {
		if b == '.' || ValidateBucketID(string(rune(b))) != nil {
			fmt.Fprintf(&text, "%s%02X", escape, b)
			continue
		}
		text.WriteByte(b)
	}
	return text.String()
}

// UnescapeID returns what EscapeID was given.
func UnescapeID(text string) (string, error) {
	parts := strings.Split(text, escape)
	for i, part := range parts[1:] {
		digits := part[:min(2, len(part))]
		b, err := hex.DecodeString(digits)
		if err != nil || len(b) == 0 {
			return "", fmt.Errorf("%q is no ID: two dots must come before two hexadecimal digits", text)
		}
		parts[i+1] = string(b) + part[len(digits):]
	}
	return strings.Join(parts, ""), nil
}

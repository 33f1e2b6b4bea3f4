// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// escape is the prefix of an escaped byte in an ID. IDs rarely contain two consecutive dots; those are escaped.
const escape = ".."

// EscapeID encodes an ID from a driver of another generation, which may contain any character. The result contains only
// characters that this contract and the Kubernetes API allow. Nearly all IDs are unchanged. In the others, each
// disallowed byte and each dot becomes two dots and two hexadecimal digits.
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

// UnescapeID is the inverse of EscapeID.
func UnescapeID(text string) (string, error) {
	parts := strings.Split(text, escape)
	for i, part := range parts[1:] {
		digits := part[:min(2, len(part))]
		b, err := hex.DecodeString(digits)
		if err != nil || len(b) == 0 {
			return "", fmt.Errorf("%q is not a valid ID: two hexadecimal digits must follow each pair of dots", text)
		}
		parts[i+1] = string(b) + part[len(digits):]
	}
	return strings.Join(parts, ""), nil
}

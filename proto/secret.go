// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a string that is never printed: fmt with any verb, and encoders for JSON, text and slog, write
// "[redacted]". Only Reveal returns the value. The value is stored behind a pointer, because fmt ignores methods for
// unexported fields of other structs and would otherwise print it. The zero value is the empty secret.
type Secret struct {
	value *string
}

// NewSecret returns a Secret that contains value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. Do not log it or put it into an error.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == nil || *s.value == "" }

// Equal compares the values in constant time.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(state fmt.State, _ rune) {
	// fmt reports write errors itself.
	_, _ = io.WriteString(state, redactedText)
}

// String implements fmt.Stringer.
func (s Secret) String() string { return redactedText }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redactedText) }

// MarshalLog implements logr.Marshaler.
func (s Secret) MarshalLog() any { return redactedText }

// MarshalText implements encoding.TextMarshaler; it does not write the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redactedText), nil }

// MarshalJSON implements json.Marshaler; it does not write the value. To store a secret, store the result of Reveal.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redactedText + `"`), nil }

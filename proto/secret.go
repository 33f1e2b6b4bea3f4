// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a string that does not print: fmt with any verb, JSON, text and slog encoders write
// "[redacted]". Only Reveal returns the value. The value is behind a pointer, so that fmt cannot
// reach it in an unexported field of another struct, where it ignores methods. The zero value is
// the empty secret.
type Secret struct {
	value *string
}

// NewSecret returns a Secret that holds value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. Its result must not be logged or put into an error.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero says whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == nil || *s.value == "" }

// Equal compares the values in a time that does not depend on where they differ.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(state fmt.State, _ rune) {
	// A failure to write is fmt's to report; there is nothing to do about it here.
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

// MarshalJSON implements json.Marshaler; it does not write the value. To store a secret, store what
// Reveal returns.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redactedText + `"`), nil }

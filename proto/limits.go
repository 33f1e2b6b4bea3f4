// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Field size limits, in bytes unless stated otherwise. They replace the general limits of the v1alpha1 specification,
// which are too small for IDs, SAS tokens and PEM keys (ADR on field sizes).
const (
	// MaxDriverNameLength limits DriverGetInfoResponse.name.
	MaxDriverNameLength = 63
	// MaxNameLength limits names: bucket and account names, service account names, revision, rotation.
	MaxNameLength = 253
	// MaxNamespaceLength limits service_account_namespace, like namespaces in Kubernetes.
	MaxNamespaceLength = 63
	// MaxIDLength limits bucket and account IDs.
	MaxIDLength = 2048
	// MaxInfoLength limits strings that no other constant covers, such as endpoints.
	MaxInfoLength = 2048
	// MaxCredentialLength limits each credential value and the certificate authority.
	MaxCredentialLength = 16 << 10
	// MaxParameters limits the number of parameters.
	MaxParameters = 512
	// MaxParametersSize limits the total size of all parameter keys and values. It counts characters rather than bytes,
	// as the API server does when a class is created, so every class that the API server accepts can be sent.
	MaxParametersSize = 64 << 10
	// MaxEntrySize limits the data of one entry in a credential store.
	MaxEntrySize = 512 << 10
)

// FieldError reports which field of a message violates which rule. It never contains a secret value.
type FieldError struct {
	// Field is the field's name in cosi.proto, with a path for nested fields, such as "buckets[0].bucket_id".
	Field string
	// Problem completes the sentence that begins with the field, such as "is required".
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

func fieldErrorf(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// ValidateBucketID returns a *FieldError about "bucket_id" unless id is 1 to MaxIDLength bytes of
// [A-Za-z0-9._/-].
func ValidateBucketID(id string) error { return validateID("bucket_id", id) }

// ValidateAccountID returns a *FieldError about "account_id" unless id is 1 to MaxIDLength bytes of
// [A-Za-z0-9._/-].
func ValidateAccountID(id string) error { return validateID("account_id", id) }

func validateID(field, id string) error {
	if err := requireString(field, id, MaxIDLength); err != nil {
		return err
	}
	for i, char := range id {
		if char >= utf8.RuneSelf || !isIDByte(byte(char)) { //nolint:gosec // below RuneSelf it is one byte
			return fieldErrorf(field, "has the character %q at position %d; allowed are A-Z, a-z, 0-9 and ._/-", char, i)
		}
	}
	return nil
}

func isIDByte(b byte) bool { return isAlphanumeric(b) || strings.IndexByte("._/-", b) >= 0 }

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// ValidateName returns a *FieldError about field unless name is 1 to MaxNameLength bytes.
func ValidateName(field, name string) error { return requireString(field, name, MaxNameLength) }

// ValidateCredential returns a *FieldError about field if value is longer than MaxCredentialLength. The error does
// not contain the value.
func ValidateCredential(field, value string) error {
	return limitString(field, value, MaxCredentialLength)
}

// ValidateEntryName returns a *FieldError about "name" unless the name of a credential store entry is 1 to
// MaxIDLength bytes.
func ValidateEntryName(name string) error { return requireString("name", name, MaxIDLength) }

// ValidateEntryData returns a *FieldError about "data" unless it is 1 to MaxEntrySize bytes. The error does not
// contain the data.
func ValidateEntryData(data []byte) error {
	return requireString("data", string(data), MaxEntrySize)
}

// ValidateParameters returns a *FieldError about "parameters" if there are more than MaxParameters of them, if they
// contain more than MaxParametersSize characters, or if a key is empty.
func ValidateParameters(parameters map[string]string) error {
	const field = "parameters"
	if len(parameters) > MaxParameters {
		return fieldErrorf(field, "has %d entries, more than %d", len(parameters), MaxParameters)
	}
	size := 0
	for key, value := range parameters {
		if key == "" {
			return fieldErrorf(field, "has an empty key")
		}
		size += utf8.RuneCountInString(key) + utf8.RuneCountInString(value)
	}
	if size > MaxParametersSize {
		return fieldErrorf(field, "has %d characters, more than %d", size, MaxParametersSize)
	}
	return nil
}

// ValidateDriverName returns a *FieldError about "name" unless name is 1 to MaxDriverNameLength bytes and consists of
// labels separated by dots. Each label consists of lower-case letters, digits and '-', and begins and ends with a
// letter or digit.
func ValidateDriverName(name string) error {
	const field = "name"
	if err := requireString(field, name, MaxDriverNameLength); err != nil {
		return err
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return fieldErrorf(field, "%q is not a lower-case domain name such as s3.example.com: "+
				"use a-z, 0-9 and '-' between dots, with a letter or digit at both ends of each part", name)
		}
	}
	return nil
}

func isLabel(label string) bool {
	if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !slices.ContainsFunc([]byte(label), func(b byte) bool {
		return b != '-' && (!isAlphanumeric(b) || b >= 'A' && b <= 'Z')
	})
}

func requireString(field, value string, limit int) error {
	if value == "" {
		return fieldErrorf(field, "is required")
	}
	return limitString(field, value, limit)
}

func limitString(field, value string, limit int) error {
	if len(value) > limit {
		return fieldErrorf(field, "has %d bytes, more than %d", len(value), limit)
	}
	return nil
}

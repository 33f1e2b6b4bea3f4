// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

const (
	// hashMark begins names that stand for a longer or stranger one. A proposed name that begins with
	// it is hashed too, so that the two kinds never meet.
	hashMark = "h-"
	// hashDigits is 160 bits in base 32.
	hashDigits = 32
)

// NameRule says which names a backend takes for its buckets or accounts.
type NameRule struct {
	// Min and Max are the fewest and most bytes of a name, with its prefix. There must be room for the
	// prefix and 34 bytes more, which a hashed name takes.
	Min, Max int
	// Pattern is what a proposed name must match to be taken as it is. It must admit names of
	// lower-case letters, digits and single dashes between them, and no dots, which end the name of a
	// backend in an ID.
	Pattern *regexp.Regexp
	// Refused, if set, reports whether the backend refuses a name, prefix included, that Pattern admits.
	// It must not refuse hashed names.
	Refused func(name string) bool
}

// Fit returns the name for a proposed one, after a prefix of the class's: the proposed name if the
// backend takes it, a hash of it otherwise. It is pure, and two proposed names never give the same
// name: none is truncated, because what is cut off may be what tells two of them apart. A driver's
// BucketID and AccountID need no more than this (DriverGenerateBucketId and DriverGenerateAccountId in KEP-1979).
func (r NameRule) Fit(prefix, proposed string) string {
	name := prefix + proposed
	fits := len(name) >= r.Min && len(name) <= r.Max && r.Pattern.MatchString(proposed) && !strings.HasPrefix(proposed, hashMark)
	if fits && (r.Refused == nil || !r.Refused(name)) {
		return name
	}
	sum := sha256.Sum256([]byte(proposed))
	digits := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return prefix + hashMark + strings.ToLower(digits[:hashDigits])
}

// Made reports whether Fit can have returned the name, but for its prefix. What it cannot have made
// need not be looked for.
func (r NameRule) Made(name string) bool {
	return len(name) >= r.Min && len(name) <= r.Max && r.Pattern.MatchString(name)
}

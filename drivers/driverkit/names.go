// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

const (
	// hashMark is the prefix of hashed names. Proposed names that begin with it are hashed too, so the two kinds cannot
	// collide.
	hashMark = "h-"
	// hashDigits is 160 bits in base 32.
	hashDigits = 32
)

// NameRule describes the names that a backend accepts for its buckets or accounts.
type NameRule struct {
	// Min and Max are the minimum and maximum length of a name in bytes, including its prefix. Max must leave room for
	// the prefix plus the 34 bytes of a hashed name.
	Min, Max int
	// Pattern is the pattern that a proposed name must match to be used unchanged. It must accept names of lower-case
	// letters, digits and single dashes between them. It must not accept dots, which separate the backend's name in an
	// ID.
	Pattern *regexp.Regexp
	// Refused, if set, reports whether the backend rejects a name that Pattern accepts. The argument includes the
	// prefix. Refused must not reject hashed names.
	Refused func(name string) bool
}

// Fit returns prefix, which a class can set, followed by the proposed name if the backend accepts the result.
// Otherwise, it returns prefix followed by a hash of the proposed name. The same arguments always give the same
// result, and distinct proposed names give distinct results. Fit never truncates names, because truncation could make
// two of them equal. A driver can implement BucketID and AccountID with Fit alone.
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

// Made reports whether Fit can have returned the name, with or without a prefix. If not, the driver does not need to
// look it up.
func (r NameRule) Made(name string) bool {
	return len(name) >= r.Min && len(name) <= r.Max && r.Pattern.MatchString(name)
}
